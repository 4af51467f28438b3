"""Find every mistake of a script at once: a QueryError carries them all, each with its place."""

from __future__ import annotations

import augury

SCRIPT = """
CREATE STREAM reads (tag STRING, reader STRING, door STRING, at TIMESTAMP)
KEY tga TIME at TYPE reader;

CREATE QUERY theft ON reads
PATTERN SEQ(SHELF x, EXIT z)
WHERE [tag] AND z.dor <> 'staff'
WITHIN 12 HUORS
RETURN y.tag AS tag;
"""


def main() -> None:
    """Check a script with several mistakes and print what augury says about each."""
    ag = augury.Session(engine="local")
    try:
        ag.sql(SCRIPT, name="theft.sql")
    except augury.QueryError as error:
        for found in error.diagnostics:
            print(f"line {found.line}, column {found.column}: {found.message} ({found.hint})")
        print(f"\n{error}")
    print(f"\nnothing was taken over: {len(ag.streams)} streams, {len(ag.queries)} queries")


if __name__ == "__main__":
    main()

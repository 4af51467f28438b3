"""Running `augury` in the process, as a terminal without colours would."""

from __future__ import annotations

from click.testing import CliRunner, Result

from augury.cli.main import cli

STORE = """\
CREATE STREAM reads (tag STRING, reader STRING, door STRING, at TIMESTAMP)
KEY tag TIME at TYPE reader;
CREATE QUERY theft ON reads
PATTERN SEQ(SHELF x, EXIT z)
WHERE [tag] AND z.door <> 'staff'
WITHIN 12 HOURS
RETURN z.tag AS tag;
"""
BROKEN = STORE.replace("z.door", "z.dor")


def augury(*arguments: str, stdin: str | bytes = "") -> Result:
    """Run a command and return its exit code and output; an unexpected exception fails the test."""
    return CliRunner().invoke(cli, list(arguments), input=stdin, catch_exceptions=False)

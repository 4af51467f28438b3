"""What a ward publishes as the weight of a private pattern grows, seen by the owner of its rows.

python examples/choose_weights.py
"""

from __future__ import annotations

from random import Random

from augury import Session

WARD = """
CREATE STREAM ward (id LONG, act STRING, t LONG, worker STRING) ID id TIME t TYPE act;
CREATE QUERY cleaned ON ward PATTERN SEQ(EXIT_PATIENT a, SANITIZE b) WHERE [worker] WITHIN 120;
CREATE QUERY washed ON ward PATTERN SEQ(WASH a, ENTER_OFFICE b) WHERE [worker] WITHIN 120;
CREATE QUERY therapy ON ward PATTERN SEQ(EXIT_PATIENT a, ENTER_OFFICE b) WHERE [worker] WITHIN 300;
"""
ACTS = ("EXIT_PATIENT", "SANITIZE", "WASH", "ENTER_OFFICE")


def rows() -> list[dict[str, object]]:
    """Return an hour of acts of two workers."""
    draw, time, found = Random(4), 0, []
    for number in range(120):
        time += draw.randint(5, 60)
        act, worker = draw.choice(ACTS), draw.choice(("ann", "bob"))
        found.append({"id": number, "act": act, "t": time, "worker": worker})
    return found


def published(price: str) -> tuple[int, int, int]:
    """Return the public matches, and how many private ones can be put together."""
    ag = Session(engine="local")
    ag.sql(
        f"{WARD} CREATE POLICY p ON ward PUBLIC cleaned, washed PRIVATE therapy {price} USING GREEDY;"
    )
    ag.bind("ward", rows())
    kept = {row["event_id"] for row in ag.audit("p").to_pylist() if row["kept"]}
    # The owner looks at the kept events without the policy.
    owner = Session(engine="local")
    owner.sql(WARD)
    owner.bind("ward", [row for row in rows() if str(row["id"]) in kept])
    cleaned, washed = (ag.table(name).num_rows for name in ("cleaned", "washed"))
    return cleaned, washed, owner.table("therapy").num_rows


def main() -> None:
    """Print a line for each weight."""
    print("private weight    cleaned    washed    therapy that can be put together")
    for price in ("WEIGHT 0", "WEIGHT 0.5", "WEIGHT 1", "WEIGHT 2", "NEVER"):
        cleaned, washed, therapy = published(price)
        print(f"{price:14}{cleaned:11}{washed:10}{therapy:10}")


if __name__ == "__main__":
    main()

"""What a ward publishes as the weight of a private pattern grows, and what can be put together."""

from __future__ import annotations

from random import Random

from augury import Session

WARD = """
CREATE STREAM ward (id STRING, act STRING, t LONG) ID id TIME t TYPE act;
CREATE QUERY cleaned ON ward PATTERN SEQ(EXIT_PATIENT a, SANITIZE b) WITHIN 120;
CREATE QUERY washed ON ward PATTERN SEQ(WASH a, ENTER_OFFICE b) WITHIN 120;
CREATE QUERY therapy ON ward PATTERN SEQ(EXIT_PATIENT a, ENTER_OFFICE b) WITHIN 300;
"""
POLICY = "CREATE POLICY p ON ward PUBLIC cleaned, washed PRIVATE therapy {} USING GREEDY;"
ACTS = ("EXIT_PATIENT", "SANITIZE", "WASH", "ENTER_OFFICE")


def main() -> None:
    """Print a line for each weight, as only the owner of the raw rows can."""
    draw = Random(4)
    rows = [{"id": str(k), "act": draw.choice(ACTS), "t": 60 * k} for k in range(120)]
    for weight in ("WEIGHT 0", "WEIGHT 0.5", "WEIGHT 1", "WEIGHT 2", "NEVER"):
        ag, owner = Session(engine="local"), Session(engine="local")
        ag.sql(WARD + POLICY.format(weight))
        ag.bind("ward", rows)
        kept = {each["event_id"] for each in ag.audit("p").to_pylist() if each["kept"]}
        owner.sql(WARD)
        owner.bind("ward", [row for row in rows if row["id"] in kept])
        shown = [f"{ag.table(name).num_rows} {name}" for name in ("cleaned", "washed")]
        hidden = owner.table("therapy").num_rows
        print(f"{weight:10}: {', '.join(shown)}; {hidden} therapies can be put together")


if __name__ == "__main__":
    main()

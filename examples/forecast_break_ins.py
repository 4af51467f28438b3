"""An alarm before the break-in: how much earlier it comes, and how often it is false.

Logins are drawn from a chain in which attacks come in runs of denials. A forecast learns from one
month and is judged on the next; an alarm is a forecast above a threshold.
"""

from __future__ import annotations

import random

import augury

SCRIPT = """
CREATE STREAM logins (id LONG, ip STRING, status STRING, t LONG)
ID id KEY ip TIME t TYPE status;
CREATE STREAM last_month (id LONG, ip STRING, status STRING, t LONG)
ID id KEY ip TIME t TYPE status;
CREATE QUERY intrusion ON logins PATTERN SEQ(DENIED a, DENIED b, DENIED c, SUCCESS d) WHERE [ip]
USING PARTITION CONTIGUITY;
CREATE FORECAST break_in ON intrusion WITHIN 4 EVENTS USING MARKOV 2 LEARN FROM last_month
RETURN FORECAST BY TIME;
"""
THRESHOLD = 0.3


def month(seed: int, events: int = 6_000) -> list[dict[str, object]]:
    """Return logins of some addresses; who was denied twice is mostly under attack."""
    draw, runs, rows = random.Random(seed), dict[str, int](), []
    for t in range(events):
        ip = f"10.0.0.{draw.randrange(20)}"
        run = runs.get(ip, 0)
        denied = draw.random() < (0.08 if run == 0 else 0.4 if run == 1 else 0.7)
        status = "DENIED" if denied else "SUCCESS" if draw.random() < 0.5 else "OTHER"
        runs[ip] = run + 1 if denied else 0
        rows.append({"id": t, "ip": ip, "status": status, "t": t})
    return rows


def main() -> None:
    """Learn, judge, and count alarms."""
    ag = augury.Session(engine="local")
    ag.sql(SCRIPT)
    ag.bind("last_month", month(1))
    score = ag.score("break_in", month(2))
    print(f"{score.judged} forecasts, of which {score.base_rate:.1%} came true")
    print(f"log loss {score.log_loss:.4f}, of the base rate {score.base_log_loss:.4f}")
    print(f"calibration error {score.calibration_error:.4f}")
    for part in score.reliability:
        print(f"  claimed {part.claimed:.2f}, came {part.happened:.2f}, {part.count} times")
    ag.bind("logins", month(2))
    breaks = {(m["ip"], m["end_ts"]): m for m in ag.table("intrusion").to_pylist()}
    alarms = [row for row in ag.table("break_in").to_pylist() if row["forecast"] > THRESHOLD]
    print(f"{len(breaks)} break-ins, {len(alarms)} alarms above {THRESHOLD}")
    ahead = []
    for ip, end in breaks:
        before = [end - row["ts"] for row in alarms if row["ip"] == ip and row["ts"] < end]
        ahead += [min(before)] if before else []
    ahead.sort()
    print(f"the last alarm before one came {ahead[len(ahead) // 2]} ticks ahead, as a median")


if __name__ == "__main__":
    main()

"""An alarm before the break-in: forecasts that learn from one month, judged on the next."""

import random

import augury

SCRIPT = """
CREATE STREAM logins (ip STRING, status STRING, t LONG) KEY ip TIME t TYPE status;
CREATE STREAM last_month (ip STRING, status STRING, t LONG) KEY ip TIME t TYPE status;
CREATE QUERY intrusion ON logins PATTERN SEQ(DENIED a, DENIED b, DENIED c, SUCCESS d) WHERE [ip]
USING PARTITION CONTIGUITY;
CREATE FORECAST break_in ON intrusion WITHIN 4 EVENTS USING MARKOV 2 LEARN FROM last_month
RETURN FORECAST BY TIME;
"""


def month(seed: int) -> list[dict[str, object]]:
    """Return logins of some addresses; who was denied twice is mostly under attack."""
    draw, denials, rows = random.Random(seed), dict[str, int](), []
    for t in range(6_000):
        ip = f"10.0.0.{draw.randrange(20)}"
        denied = draw.random() < (0.08, 0.4, 0.7)[min(denials.get(ip, 0), 2)]
        denials[ip] = denials.get(ip, 0) + 1 if denied else 0
        status = "DENIED" if denied else draw.choice(["SUCCESS", "OTHER"])
        rows.append({"ip": ip, "status": status, "t": t})
    return rows


ag = augury.Session(engine="local")
ag.sql(SCRIPT)
ag.bind("last_month", month(1))
score = ag.score("break_in", month(2))
print(f"{score.judged} forecasts, of which {score.base_rate:.1%} came true")
print(f"log loss {score.log_loss:.4f}, of the base rate {score.base_log_loss:.4f}")
for part in score.reliability:
    print(f"  claimed {part.claimed:.2f}, came {part.happened:.2f}, {part.count} times")
print(ag.explain("break_in").split("\n\n")[0])

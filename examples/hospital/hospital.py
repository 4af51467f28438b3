"""The whole chain over a ward: who it may have been, what was done, what badges and pages show.

The script is `augury/demo/hospital/ward.sql`; `augury demo --scene hospital` judges it.
"""

from __future__ import annotations

import warnings
from collections import Counter

from augury.demo.hospital.pipelines import opened, script, truth, violations_of
from augury.demo.hospital.ward import Care, simulate

warnings.simplefilter("ignore")  # Badges that were mistaken for others are reset, which is said.
ward = simulate(seed=4, care=Care(corridors=2, hours=0.4))
print(script("ward.sql"))
ag = opened(ward)  # Declares the script, and binds the staff and what the readers told.

print(
    f"{len(ward.told)} events, of which {ward.unread} have no owner. One of them, as it was told:"
)
told = ag.revisions("known").to_pylist()
first = next(row["id"] for row in told if row["revision"] > 0)
for row in [row for row in told if row["id"] == first][:6]:
    print(f"  {row['as_of']:%H:%M:%S} {row['action']} {row['person']} {row['p']:.2f}")

found, really = violations_of(ag), truth(ward)
print(f"\n{len(really)} violations happened. What is told, and whether it is so:")
for violation, confidence in sorted(found.items(), key=lambda each: -each[1])[:8]:
    print(f"  {violation[1]} {confidence:.2f} {violation in really}")

print(
    "\nWhat the badges show now:", Counter(row["state"] for row in ag.table("badges").to_pylist())
)
for row in ag.table("alarms").to_pylist():
    print(f"  alarm at {row['at']:%H:%M:%S}: {row['person']} in {row['room']}")
kept = ag.table("published").num_rows
print(
    f"\n{kept} rows are published; who scrubs, and who sees the psychiatrist, is in none of them."
)

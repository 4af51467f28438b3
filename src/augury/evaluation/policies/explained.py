"""What a policy has learned and decided, in words for the owner of the raw stream."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from augury.evaluation.policies.decider import ColumnDecider
from augury.privacy.policy import Decider


def learned_text(decider: Decider | ColumnDecider, audit: pa.Table) -> str:
    """Return what is known of a policy at work; it is as secret as the raw stream."""
    policy, tally = decider.policy, decider.tally
    lines = ["as secret as the raw stream:"]
    if policy.method != "GREEDY":
        lines.append(f"  learned from {tally.count} events")
        lines.append(f"  {_type_level(decider)}")
    if policy.method in ("PERIODIC", "HYBRID"):
        found = decider.period
        lines.append(f"  period: {found}" if found else "  period: none was found, so by rates")
    if policy.looks_ahead:
        lines.append(f"  patience: {decider.patience:g}")
    lines.append(f"  {_decided(audit)}")
    return "\n".join(lines)


def _type_level(decider: Decider | ColumnDecider) -> str:
    level, length = decider.level, decider.tally.length
    dropped = ", ".join(sorted(level.dropped)) or "nothing"
    worth = f", {level.utility / length:g} per unit of time" if length else ""
    # How far HiGHS is from the optimum where its time was up.
    gap = f"; at most {level.gap:.2%} from the best" if level.gap else ""
    return f"the type level drops {dropped}: the history is worth {level.utility:g}{worth}{gap}"


def _decided(audit: pa.Table) -> str:
    kept, rules = audit.column("kept").to_pylist(), audit.column("rule").to_pylist()
    gone = Counter(rule for rule, stays in zip(rules, kept, strict=True) if not stays)
    by = ", ".join(f"{count} by {rule}" for rule, count in sorted(gone.items())) or "none"
    return f"decided about {len(kept)} events; suppressed: {by}"

"""Of all matches reported with a confidence of about 0.8, are 80 % real? With charts of the answer.

Writes docs/benchmarks/missed-calibration.json and two reliability charts: by the law, and by AYAC's
formulas. Only matches with something unseen count: the others are certain.
"""

from __future__ import annotations

import json
from itertools import product

import numpy as np

from augury import Session
from matching.harness import FIGURES, sized
from missed.simulated import FAMILIES, Case, case, script

SEQUENCES = sized(200_000, 2_000)
RATES = (0.05, 0.1, 0.2, 0.3, 0.4)
KINDS = ("middle", "first", "last", "negated", "negated first", "negated last")
BINS = 10
LEAST = 500
SIZE, MARGIN = 320, 44


def reported(own: Case, rate: float, scoring: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidence of each match with something unseen, and whether it is real."""
    ag = Session(engine="local")
    ag.sql(script(own, rate, scoring))
    ag.bind("s", own.reads)
    found = ag.table("q")
    confidence = found.column("confidence").to_numpy()
    unseen = (found.column("n_missed").to_numpy() > 0) | (confidence < 1.0)
    return confidence[unseen], own.true[found.column("tag").to_numpy()[unseen]]


def measure(scoring: str) -> tuple[np.ndarray, np.ndarray]:
    """Return confidences and truths of all kinds, families and rates."""
    rng = np.random.default_rng(2026)
    cells = list(product(KINDS, FAMILIES, RATES))
    pieces = []
    for kind, family, rate in cells:
        own = case(kind, family, rate, SEQUENCES // len(cells) + 1, rng)
        pieces.append(reported(own, rate, scoring))
    return np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])


def by_bin(confidence: np.ndarray, true: np.ndarray) -> list[dict[str, float]]:
    """Return, of each tenth, how many matches it has, what they claim and what is real."""
    tenth = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return [
        {
            "matches": int((tenth == k).sum()),
            "claimed": round(float(confidence[tenth == k].mean()), 5),
            "real": round(float(true[tenth == k].mean()), 5),
        }
        for k in range(BINS)
        if (tenth == k).any()
    ]


def summary(confidence: np.ndarray, true: np.ndarray) -> dict[str, object]:
    """Return the expected calibration error, and the worst of the bins with enough matches."""
    bins = by_bin(confidence, true)
    off = [abs(b["claimed"] - b["real"]) for b in bins]
    total = sum(b["matches"] for b in bins)
    error = sum(o * b["matches"] for o, b in zip(off, bins, strict=True)) / total
    worst = max((o for o, b in zip(off, bins, strict=True) if b["matches"] >= LEAST), default=0.0)
    return {
        "matches": total,
        "expected_calibration_error": round(error, 5),
        "worst_bin": round(worst, 5),
        "bins": bins,
    }


def chart(found: dict[str, object], title: str) -> str:
    """Return a reliability chart as SVG: claimed confidence against the share that is real."""
    side = SIZE - 2 * MARGIN

    def x(value: float) -> float:
        return round(MARGIN + side * value, 1)

    def y(value: float) -> float:
        return round(SIZE - MARGIN - side * value, 1)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{SIZE}" height="{SIZE}" fill="white"/>',
        f'<text x="{SIZE / 2}" y="18" text-anchor="middle" font-size="13">{title}</text>',
        f'<path d="M{x(0)} {y(1)} V{y(0)} H{x(1)}" fill="none" stroke="#334155"/>',
        f'<path d="M{x(0)} {y(0)} L{x(1)} {y(1)}" stroke="#94a3b8" stroke-dasharray="4 3"/>',
    ]
    lines += [
        f'<text x="{x(tick)}" y="{y(0) + 15}" text-anchor="middle">{tick:g}</text>'
        f'<text x="{x(0) - 6}" y="{y(tick) + 4}" text-anchor="end">{tick:g}</text>'
        for tick in (0.0, 0.5, 1.0)
    ]
    for each in found["bins"]:  # type: ignore[attr-defined]
        radius = round(2.0 + 1.2 * np.log10(max(each["matches"], 1)), 1)
        color = "#2563eb" if each["matches"] >= LEAST else "#93c5fd"
        place = f'cx="{x(each["claimed"])}" cy="{y(each["real"])}"'
        lines.append(f'<circle {place} r="{radius}" fill="{color}"/>')
    lines.append(
        f'<text x="{SIZE / 2}" y="{SIZE - 8}" text-anchor="middle">confidence reported</text>'
        f'<text x="12" y="{SIZE / 2}" text-anchor="middle" '
        f'transform="rotate(-90 12 {SIZE / 2})">share that is real</text></svg>'
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure both scorings and write what came out."""
    results = {}
    for scoring, name in (("LAW", "law"), ("AYAC", "ayac")):
        found = summary(*measure(scoring))
        results[scoring] = found
        title = f"SCORING {scoring}: error {found['expected_calibration_error']:.3f}"
        (FIGURES / f"missed-calibration-{name}.svg").write_text(chart(found, title))
        print(scoring, found["expected_calibration_error"], found["worst_bin"], found["matches"])
    (FIGURES / "missed-calibration.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

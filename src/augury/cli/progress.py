"""What a run says while it goes on: one line on a terminal, JSON lines for tools, else nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import click

from augury.cli import findings
from augury.cli.tables import Tables
from augury.runners.untold import without_raw_rows
from augury.sinks.plain_json import finite

if TYPE_CHECKING:
    from augury.runners.metrics import Metrics


class Counted(Protocol):
    """What counts the rows of a run."""

    def total(self, kind: str) -> int: ...
    @property
    def totals(self) -> Mapping[tuple[str, str], int]: ...


def numbers(
    progress: Mapping[str, Any], counted: Counted, *, in_ticks: bool = False
) -> dict[str, Any]:
    """Return what is worth knowing of Spark's progress, with the totals of the run.

    Spark takes ticks for milliseconds; `in_ticks` gives them back as numbers, and no lag in time.
    """
    states = progress.get("stateOperators") or []
    times = progress.get("eventTime") or {}
    return {
        "batch": progress["batchId"],
        "events": progress["numInputRows"],
        "events_per_second": round(_rate(progress), 1),
        "matches": counted.total("match"),
        "late": counted.total("late"),
        "rejected": counted.total("rejected"),
        "watermark": _ticks(times) if in_ticks else times.get("watermark"),
        "watermark_lag_seconds": None if in_ticks else _lag(times),
        "state_rows": sum(state["numRowsTotal"] for state in states),
        "state_bytes": sum(state["memoryUsedBytes"] for state in states),
    }


def _rate(progress: Mapping[str, Any]) -> float:
    rate = progress.get("processedRowsPerSecond") or 0.0
    return float(rate) if rate == rate else 0.0  # noqa: PLR0124


def _ticks(times: Mapping[str, str]) -> int | None:
    mark = times.get("watermark")
    return None if mark is None else round(datetime.fromisoformat(mark).timestamp() * 1000)


def _lag(times: Mapping[str, str]) -> float | None:
    """Return how far the watermark is behind the latest event time of the batch."""
    if "max" not in times or "watermark" not in times:
        return None
    latest, mark = (datetime.fromisoformat(times[name]) for name in ("max", "watermark"))
    return max(0.0, (latest - mark).total_seconds()) if mark.timestamp() > 0 else None


def line(found: Mapping[str, Any]) -> str:
    """Return the numbers as people read them; what is not told is a dash.

    >>> line({"batch": 3, "events_per_second": 1234.5, "matches": 7, "watermark_lag_seconds": 60.0,
    ...       "state_bytes": 2_500_000, "late": 0, "rejected": 2})
    'batch 3 | 1,234 events/s | 7 matches | lag 60 s | state 2.5 MB | 0 late | 2 bad'
    """
    lag, state = found["watermark_lag_seconds"], found["state_bytes"]
    speed = found["events_per_second"]
    parts = [
        f"batch {found['batch']}",
        "- events/s" if speed is None else f"{int(speed):,} events/s",
        findings.number(found["matches"], "match"),
        "lag -" if lag is None else f"lag {lag:,.0f} s",
        "state -" if state is None else f"state {state / 1e6:.1f} MB",
        f"{found['late']:,} late",
        f"{found['rejected']:,} bad",
    ]
    return " | ".join(parts)


def as_json(value: Any, *, ensure_ascii: bool = True) -> str:
    """Return a value as JSON. What JSON has no number for is text, as Spark writes it to files.

    >>> as_json({"score": float("nan"), "most": [float("inf"), 1.5]})
    '{"score": "NaN", "most": ["Infinity", 1.5]}'
    """
    try:
        return json.dumps(value, default=str, ensure_ascii=ensure_ascii, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value), default=str, ensure_ascii=ensure_ascii)


def _is_terminal() -> bool:
    return sys.stderr.isatty()


def _shows_tables() -> bool:
    return sys.stdout.isatty()


@dataclass
class Reporter:
    """Says what happens, in the way that was asked for.

    `tells_raw`: how many rows came, and until when, is nobody's secret.
    """

    as_json: bool
    is_terminal: bool = field(default_factory=_is_terminal)
    in_ticks: bool = False
    tells_raw: bool = True
    wide: bool = False
    log: str | None = None
    metrics: Metrics | None = None
    tables: Tables | None = field(default_factory=lambda: Tables() if _shows_tables() else None)
    _has_line: bool = False

    def tell(self, event: str, **content: Any) -> None:
        """Print an event, for tools."""
        self._log(event, content)
        if self.as_json:
            click.echo(as_json({"event": event, **content}))

    def progress(self, progress: Mapping[str, Any], counted: Counted) -> None:
        found = numbers(progress, counted, in_ticks=self.in_ticks)
        if not self.tells_raw:
            found = without_raw_rows(found)
        self.say(found, counted)
        self.flush()

    def say(self, found: Mapping[str, Any], counted: Counted | None = None) -> None:
        """Say how far a run has come, in numbers."""
        if self.metrics is not None and counted is not None:
            self.metrics.note(found, counted.totals)
        self.tell("progress", **found)
        if self.is_terminal and not self.as_json:
            click.echo(f"\r\x1b[K{line(found)}", nl=False, err=True)
            self._has_line = True

    def note(self, text: str) -> None:
        """Print a sentence for people, on a line of its own."""
        self._log("note", {"message": text})
        if not self.as_json:
            self._end_line()
            click.echo(findings.printable(text), err=True)

    def announce(self, text: str) -> None:
        """Print what people must know, also where standard output is for tools."""
        self._log("warning", {"message": text})
        self._end_line()
        click.echo(findings.printable(text), err=True)

    def row(self, query: str, row: Mapping[str, Any]) -> None:
        """Print an answer of a query whose target is the console."""
        if self.as_json:
            self.tell("match", query=query, row=row)
        elif self.tables is not None:
            self.tables.add(query, row)
        else:
            self._end_line()
            click.echo(findings.printable(as_json(row, ensure_ascii=False)))

    def _log(self, event: str, content: Mapping[str, Any]) -> None:
        """Write what happens, but for answers, to the log."""
        if self.log is None or event == "match":
            return
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        with open(self.log, "a", encoding="utf-8") as out:
            out.write(as_json({"time": moment, "event": event, **content}) + "\n")

    def flush(self) -> None:
        """Print the answers that wait to be shown as a table."""
        if self.tables is None or not self.tables.held:
            return
        self._end_line()
        for text in self.tables.texts(wide=self.wide):
            click.echo(findings.printable(text))

    def _end_line(self) -> None:
        if self._has_line:
            click.echo("", err=True)
            self._has_line = False

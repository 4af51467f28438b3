"""The sink for what stands after TO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from augury import brokers
from augury.sinks.console import ConsoleSink, Show
from augury.sinks.delta import DeltaSink
from augury.sinks.folder import FolderSink, Owner
from augury.sinks.sink import Revisions
from augury.sinks.topic import TopicSink

if TYPE_CHECKING:
    from augury.language.tree import External
    from augury.sinks.sink import Mode, Sink


@dataclass(frozen=True)
class Choice:
    """Makes the sinks of one run; `checkpoint` is where topics keep their notes.

    `floors` has, of queries in lower case, the greatest confidence that takes a match back.
    """

    spark: Any
    run: str
    checkpoint: str
    show: Show
    floors: Mapping[str, float] = field(default_factory=dict)

    def sink(self, query: str, target: External) -> Sink:
        """Return the sink for the answers of a query."""
        if target.format == "console":
            return ConsoleSink(query, self.show)
        if target.format == "kafka":
            return self._topic(query, target)
        assert target.path is not None
        owner, settings = Owner(self.run, query), target.settings
        mode = _mode(settings)
        if target.format == "delta":
            # A bounded run has no id of its own, and may be repeated over other rows.
            run = uuid4().hex if self.run == "batch" else self.run
            return DeltaSink(self.spark, target.path, query, run, settings, mode)
        return FolderSink(self.spark, target.path, target.format, owner, settings, mode)

    def _topic(self, query: str, target: External) -> TopicSink:
        settings = brokers.with_servers(target.settings, f"WRITE {query} TO kafka")
        named = _taken(settings, "topic")
        topic = target.path or named or ""
        notes = f"{self.checkpoint}/augury-topics/{query}-{topic}"
        is_erased = _taken(settings, "retract") == "tombstone"
        floor = self.floors.get(query.lower(), 0.0) if is_erased else None
        revisions = Revisions(_mode(settings), floor)
        return TopicSink(self.spark, query, topic, settings, notes, revisions)


def _mode(settings: dict[str, str]) -> Mode:
    """Take from the options of a target whether it gets the log of revisions."""
    return "append" if _taken(settings, "revisions") == "log" else "upsert"


def _taken(settings: dict[str, str], name: str) -> str | None:
    """Take an option of ours out of those that go to Spark."""
    own = next((key for key in settings if key.lower() == name), None)
    return None if own is None else settings.pop(own)

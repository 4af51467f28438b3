"""The sink for what stands after TO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from augury import brokers
from augury.sinks.console import ConsoleSink, Show
from augury.sinks.folder import FolderSink, Owner
from augury.sinks.topic import TopicSink

if TYPE_CHECKING:
    from augury.language.tree import External
    from augury.sinks.sink import Sink


@dataclass(frozen=True)
class Choice:
    """Makes the sinks of one run; `checkpoint` is where topics keep their notes."""

    spark: Any
    run: str
    checkpoint: str
    show: Show

    def sink(self, query: str, target: External) -> Sink:
        """Return the sink for the answers of a query."""
        if target.format == "console":
            return ConsoleSink(query, self.show)
        if target.format == "kafka":
            return self._topic(query, target)
        assert target.path is not None
        owner = Owner(self.run, query)
        return FolderSink(self.spark, target.path, target.format, owner, target.settings)

    def _topic(self, query: str, target: External) -> TopicSink:
        settings = brokers.with_servers(target.settings, f"WRITE {query} TO kafka")
        named = [settings.pop(key) for key in list(settings) if key.lower() == "topic"]
        topic = target.path or named[0]
        notes = f"{self.checkpoint}/augury-topics/{query}-{topic}"
        return TopicSink(self.spark, query, topic, settings, notes)

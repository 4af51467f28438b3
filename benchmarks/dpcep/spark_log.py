"""What Spark says it did: tasks, bytes shuffled and skew, read from its event log."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    # So that Spark's bytes are those of the blobs.
    "spark.shuffle.compress": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
}


@dataclass
class Work:
    """The tasks of the jobs with one description."""

    tasks: int = 0
    shuffled: int = 0
    by_stage: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """Return tasks, bytes shuffled, and skew (the largest task to the mean).

        Of time in the stage that worked longest, of bytes in the stage that read most.
        """
        longest = max(([t for t, _ in own] for own in self.by_stage.values()), key=sum)
        reading = max(([r for _, r in own] for own in self.by_stage.values()), key=sum)
        return {
            "tasks": self.tasks,
            "bytes_shuffled": self.shuffled,
            "skew_of_task_time": round(max(longest) / max(1.0, statistics.fmean(longest)), 2),
            "skew_of_bytes_read": round(max(reading) / max(1.0, statistics.fmean(reading)), 2),
        }


def work_of(folder: Path) -> dict[str, Work]:
    """Return what was done under each job description."""
    found: dict[str, Work] = {}
    names: dict[int, str] = {}
    for event in _events(folder):
        if event["Event"] == "SparkListenerJobStart":
            name = event.get("Properties", {}).get("spark.job.description", "")
            names |= {stage: names.get(stage, name) for stage in event["Stage IDs"]}
        elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
            work = found.setdefault(names.get(event["Stage ID"], ""), Work())
            metrics = event["Task Metrics"]
            work.tasks += 1
            work.shuffled += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            read = metrics["Shuffle Read Metrics"]
            size = read["Remote Bytes Read"] + read["Local Bytes Read"]
            own = work.by_stage.setdefault(event["Stage ID"], [])
            own.append((metrics["Executor Run Time"], size))
    return found


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    logs = [path for path in folder.iterdir() if path.name.startswith(("app-", "local-"))]
    for path in logs:
        with path.open() as lines:
            yield from map(json.loads, lines)

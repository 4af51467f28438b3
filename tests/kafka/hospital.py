"""The hospital as a job on Spark: doors from Kafka, badges in PostgreSQL, alarms to a webhook.

The script is that of the demo with places put in; what is read, and how often parts of it die, is
said by `test_hospital`.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augury.demo.hospital.pipelines import script
from augury.demo.hospital.ward import Act, Ward
from kafka.topics import create, received, send
from stores.databases import asked
from stores.hooks import Hook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from kafka.broker import Broker

# What is written to topics: matches, firings, changes of a table, what is kept, forecasts.
TOLD = ("contact", "unmasked", "alarm", "mask", "badges", "published", "soon")
# What is told again goes out as a log: of several revisions in one micro-batch a topic has the last
# alone, and where batches are cut hangs on when something dies.
REVISED = ("contact", "unmasked", "published")
# Acts that let what is before them be known; a kill may come between the first and what it brings.
ENDS = 2


def told_of(ward: Ward, ends: int = ENDS) -> Iterator[dict[str, Any]]:
    """Return what the readers told, as messages, and acts on later days."""
    for act in ward.told:
        yield message(act)
    last, first = ward.told[-1], ward.staff[0]
    for day in range(1, ends + 1):
        at = last.at + timedelta(days=day)
        end = Act(last.id + 10**6 + day, first["corridor"], first["person"], "SANITIZE", "H", at)
        yield message(end)


def message(act: Act) -> dict[str, Any]:
    own = {name: getattr(act, name) for name in ("id", "corridor", "person", "action", "room")}
    return own | {"at": act.at.isoformat()}


@dataclass
class Places:
    """Where a run reads and writes: topics of its own, a database, a webhook, a folder."""

    home: Path
    broker: Broker
    doors: str
    url: str
    heard: Hook
    topics: dict[str, str] = field(default_factory=dict)

    @property
    def seen(self) -> str:
        """The topic of badges that were read: what the policy guards is read by no other name."""
        return f"{self.doors}-seen"

    def tell(self, spark: SparkSession, rows: list[dict[str, Any]]) -> None:
        """Send what the readers tell."""
        send(spark, self.broker, self.doors, rows)
        send(spark, self.broker, self.seen, [row for row in rows if row["person"] is not None])

    def make(self, spark: SparkSession, ward: Ward, more: str = "") -> None:
        """Write the script and its tables, and create the topics; `more` goes to the source."""
        self.topics = {name: f"{self.doors}-{name}" for name in TOLD}
        for topic in self.topics.values():
            create(spark, self.broker, topic)
        self.home.mkdir(parents=True, exist_ok=True)
        _write_csv(self.home / "staff.csv", ward.staff)
        rooms = [{"room": f"R{k + 1}"} for k in range(ward.care.contagious)]
        _write_csv(self.home / "contagious.csv", rooms)
        (self.home / "ward.sql").write_text(self.text(more))

    def text(self, more: str = "") -> str:
        """Return the script of the demo with the places of this run."""
        servers = f"OPTIONS (servers = '{self.broker.servers}'{{}})"
        changed = script("ward.sql")
        for table in ("staff", "contagious"):
            file = f"{self.home}/{table}.csv"
            changed = _placed(changed, rf"(CREATE TABLE {table} \([^)]*\))", f"FROM csv '{file}'")
        for table in ("badges", "alarms"):
            changed = _placed(
                changed, rf"(CREATE TABLE {table} \([^)]*\) KEY [\w, ]+)", "STORE station"
            )
        for topic in (self.doors, self.seen):
            place = f"FROM kafka '{topic}' {servers.format(more)}"
            changed = changed.replace("TYPE action;", f"TYPE action {place};", 1)
        writes = "".join(
            f"WRITE {name} TO kafka '{topic}' {servers.format(_log(name))};\n"
            for name, topic in self.topics.items()
        )
        hooks = "".join(f"WRITE {rule} TO webhook '{self.heard.url}';\n" for rule in RULES)
        return f"CREATE STORE station AT '{self.url}';\n{changed}{writes}{hooks}"

    def outcome(self, spark: SparkSession) -> dict[str, Any]:
        """Return all that a run has left: tables, topics, and what the webhook took."""
        found: dict[str, Any] = {
            f"stored {table}": sorted(asked(self.url, f"SELECT * FROM {table}"))
            for table in ("badges", "alarms")
        }
        for name, topic in self.topics.items():
            messages = [_line(each["value"]) for each in received(spark, self.broker, topic)]
            assert len(messages) == len(set(messages)), f"{name} was told twice"
            found[name] = sorted(messages)
        found["webhook"] = sorted(map(_line, self.heard.log.values()))
        return found


RULES = ("alarm", "mask")


def _log(name: str) -> str:
    return ", revisions = 'log'" if name in REVISED else ""


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _placed(text: str, pattern: str, place: str) -> str:
    changed, count = re.subn(pattern, rf"\1 {place}", text)
    assert count == 1, pattern
    return changed


def _write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

"""Every setting in one table: its name, its default and what it means.

Settings are the limits that keep a wrong query from taking the machine with it. Each can be set
for a process by an environment variable (`AUGURY_MATCH_LIMIT=1000`); docs/settings.md explains
them, and a test compares that document with this table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from augury.errors import AuguryError


@dataclass(frozen=True, slots=True)
class Setting:
    """One limit: a positive whole number."""

    name: str
    default: int
    meaning: str

    @property
    def variable(self) -> str:
        """The environment variable that overrides the default."""
        return f"AUGURY_{self.name.upper()}"


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "match_limit",
        1_000_000,
        "matches that may begin with one event, where the query has no MATCH LIMIT of its own",
    ),
    Setting(
        "step_match_limit",
        20_000_000,
        "matches of one query in one step, where its MATCH LIMIT is not larger",
    ),
    Setting(
        "policy_beginning_limit",
        1_000_000,
        "beginnings of one query that a policy follows at once, where it is no plain sequence",
    ),
    Setting(
        "step_byte_limit",
        4 * 2**30,
        "bytes that the matches of one query may take in one step, until they are told",
    ),
    Setting(
        "lineage_limit",
        200_000,
        "cases that may be told apart to compute one probability from lineage",
    ),
    Setting(
        "automaton_state_limit",
        10_000,
        "states that the automaton of one pattern may have",
    ),
    Setting(
        "chain_state_limit",
        100_000,
        "states that the distribution of one chain may spread over",
    ),
    Setting(
        "forecast_state_limit",
        100_000,
        "states that the chain of one forecast may have: what lives, and the last symbols; "
        "beyond, APPROXIMATE samples",
    ),
    Setting(
        "history_limit",
        100_000,
        "instances of a history that CREATE GAPS ... LEARN FROM learns from; of more, a sample",
    ),
    Setting(
        "identity_state_limit",
        2_000,
        "states of one ward that are told apart to say who did what; of more, a sample",
    ),
    Setting(
        "type_level_seconds",
        60,
        "seconds that the type level of a policy over many types may take to be solved",
    ),
    Setting(
        "store_retries",
        8,
        "times that a store which does not answer is asked again before the run fails",
    ),
    Setting(
        "store_lease_seconds",
        60,
        "seconds after its last commit for which a run keeps others from writing its tables",
    ),
    Setting(
        "webhook_timeout_seconds",
        10,
        "seconds after which a webhook that has not answered is asked again",
    ),
    Setting(
        "webhook_retries",
        8,
        "times that a webhook is asked again when a run ends, before its letters stay behind",
    ),
    Setting(
        "local_input_bytes",
        4 * 2**30,
        "bytes of files up to which `augury run` takes this process by itself, and not Spark",
    ),
    Setting(
        "whole_input_bytes",
        256 * 2**20,
        "bytes of files that `augury run` reads whole in this process; larger ones block by block",
    ),
    Setting(
        "shards",
        16,
        "parts that a streaming run on Spark cuts its rows into, where a key allows it",
    ),
)

_BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


def value_of(name: str) -> int:
    """Return a setting's value: the environment's, or the default.

    >>> value_of("automaton_state_limit")
    10000
    """
    setting = _BY_NAME[name]
    text = os.environ.get(setting.variable)
    if text is None:
        return setting.default
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise AuguryError(
            f"{setting.variable} is {text!r}; expected a positive whole number; "
            "change or unset the variable"
        )
    return int(text)

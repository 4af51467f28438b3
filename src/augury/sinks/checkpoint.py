"""Whose checkpoint is it? A file in the folder says which queries wrote it, and in which form.

Spark would take any state for its own, so the queries are compared before it sees them. Options and
targets may change between two runs; what the state depends on may not.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from augury.errors import StateError
from augury.sinks.committed import Places

# What a checkpoint of this process has among its texts, and one of Spark has not.
LOCAL = "the local engine"
_NAME = "augury.json"
_LAYOUT = 1


@dataclass(frozen=True)
class Identity:
    """What a state depends on: the normalised text of streams and queries, and its form.

    State is written in version `state`, and can be read from version `oldest` on.
    """

    texts: Mapping[str, str]
    state: int
    oldest: int = 1


def claim(store: Places, folder: str, identity: Identity) -> str:
    """Return the run's own id: a new one for an empty folder, else that of the checkpoint.

    Raises `StateError` where the checkpoint is of other queries, or of another form of state.
    """
    stored = store.read(_NAME)
    if stored is None:
        _expect_empty(store, folder)
        run = uuid.uuid4().hex
        content = {"layout": _LAYOUT, "run": run, "state": identity.state, "only_run": True}
        store.write(_NAME, content | {"texts": dict(identity.texts)})
        return run
    _compare(stored, identity, folder)
    return str(stored["run"])


def _expect_empty(store: Places, folder: str) -> None:
    if any(name in ("offsets", "commits", "metadata") for name in store.names()):
        raise StateError(
            f"{folder} is a checkpoint that augury did not write; name another --checkpoint folder"
        )


def _compare(stored: Mapping[str, Any], identity: Identity, folder: str) -> None:
    layout, state = stored.get("layout", 0), stored.get("state", 0)
    if layout != _LAYOUT or not identity.oldest <= state <= identity.state:
        raise StateError(
            f"the state in {folder} is of version {layout}.{state}, and this release reads "
            f"{_LAYOUT}.{identity.oldest} to {_LAYOUT}.{identity.state}; finish that run with the "
            "release that began it, or start with another --checkpoint folder"
        )
    texts = stored["texts"]
    # Older releases noted every query of the script, whether it was run or not.
    names = sorted({*texts, *identity.texts} if "only_run" in stored else identity.texts)
    changed = [name for name in names if texts.get(name) != identity.texts.get(name)]
    if changed:
        raise StateError(
            f"the checkpoint {folder} belongs to other streams or queries: {', '.join(changed)} "
            f"{'was' if len(changed) == 1 else 'were'} added, removed or changed since; go on with "
            "the script, sources and queries that began it, or begin anew: remove that folder, or "
            "start with another --checkpoint "
            "folder"
        )

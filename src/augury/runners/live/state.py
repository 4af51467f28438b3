"""The state of the live runner as bytes: what each entrance remembers, what each query holds.

Live events go as Arrow columns, the rest as JSON; codes travel with the values they stand for. The
header is that of the match state (`matching.codec`), with a magic and a version of its own.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import StateError
from augury.evaluation.codec import Format, fingerprint, ipc_bytes, plain, value_of
from augury.kernels.search.gather import LINK
from augury.runners.live.encoding import Encoded, LiveCodes
from augury.runners.live.forecast import LiveForecast
from augury.runners.live.gate import LiveGate
from augury.runners.live.identify import LiveIdentified
from augury.runners.live.query import LiveQuery
from augury.runners.live.runner import Live, LiveRunner
from augury.runners.live.steps import LiveSteps
from augury.sources.intake import Alternatives, Arrival, Intake
from augury.sources.recent import Generation
from augury.sources.rows import Declaration

FORMAT = Format(b"AUGURYLS", 1)
Plain = dict[str, Any]
Waiting = dict[str, list[tuple[int, Arrival]]]


def dump(runner: LiveRunner) -> bytes:
    """Return everything that the runner needs to go on in another process."""
    runner.refuse_stopped()
    parts: list[bytes] = []
    about: Plain = {
        "entrances": {name: _entrance(each) for name, each in runner.entrances.items()},
        "queries": {name: _query(each, parts) for name, each in runner.queries.items()},
        "acting": None if runner.acting is None else runner.acting.dump(),
        "gates": {name: _gate(each, parts) for name, each in runner.gates.items()},
    }
    about["parts"] = [len(part) for part in parts]
    head = json.dumps(about).encode()
    return FORMAT.seal(len(head).to_bytes(8, "little") + head + b"".join(parts), _mark(runner))


def load(runner: LiveRunner, data: bytes) -> None:
    """Put a runner with the same declarations into the state that `dump` wrote."""
    _, body = FORMAT.unseal(data, "this session", _mark(runner))
    length = int.from_bytes(body[:8], "little")
    about = json.loads(body[8 : 8 + length])
    parts, at = [], 8 + length
    for size in about["parts"]:
        parts.append(body[at : at + size])
        at += size
    for name, entrance in runner.entrances.items():
        _restore_entrance(entrance, about["entrances"][name])
    if runner.acting is not None:
        runner.acting.load(about["acting"])
    for name, gate in runner.gates.items():
        _restore_gate(gate, about["gates"][name], parts, runner)
    for name, query in runner.queries.items():
        if isinstance(query, LiveSteps):
            _restore_steps(query, about["queries"][name], parts, runner)
        elif isinstance(query, LiveForecast):
            _restore_forecast(query, about["queries"][name], parts, runner)
        elif isinstance(query, LiveIdentified):
            _restore_identified(query, about["queries"][name], parts)
        elif isinstance(query, LiveQuery):
            _restore_query(query, about["queries"][name], parts, runner)


def _mark(runner: LiveRunner) -> bytes:
    """Return the fingerprint of the declarations: by their text, which outlives releases."""
    streams = [(name, _essence(each.declared)) for name, each in sorted(runner.entrances.items())]
    # Rules in the order in which they were declared: it decides what they do.
    texts = sorted(runner.texts.items()) + list(runner.rule_texts.items())
    # A checkpoint belongs to its policies; one without them is marked as it always was.
    policies = [(name, gate.stage.plan.mark) for name, gate in sorted(runner.gates.items())]
    for name, own in sorted(runner.owners_kept.items()):
        policies += [] if own.policy is None else [(name, own.policy.plan.mark)]
    return fingerprint(streams, texts, *policies)


def _essence(declared: Declaration) -> tuple[object, ...]:
    """Return what rows of a stream depend on."""
    uncertain = (declared.probability, declared.has_alternatives)
    columns = tuple(declared.columns.items())
    return columns, declared.id, declared.key, declared.time, uncertain


# Entrances -----------------------------------------------------------------------------------


def _entrance(entrance: Intake) -> Plain:
    known = [
        [plain(key), [same.mass, same.rows] if isinstance(same, Alternatives) else same]
        for key, same in entrance.known.items()
    ]
    recent = entrance.recent
    return {
        "watermark": entrance.watermark,
        "known": known,
        "ages": [[time, plain(key)] for time, key in entrance.ages],
        "recent": [[each.since, each.words()] for each in recent.generations],
        "late": entrance.late,
        "rejected": entrance.rejected,
    }


def _restore_entrance(entrance: Intake, about: Plain) -> None:
    entrance.watermark = about["watermark"]
    entrance.known = {
        value_of(key): Alternatives(*same) if isinstance(same, list) else same
        for key, same in about["known"]
    }
    entrance.recent.generations = [_generation(each) for each in about["recent"]]
    entrance.ages.clear()
    entrance.ages.extend((time, value_of(key)) for time, key in about["ages"])
    entrance.late = [(values, reason) for values, reason in about["late"]]
    entrance.rejected = [(values, reason) for values, reason in about["rejected"]]


def _generation(written: list[Any]) -> Generation:
    since, words = written
    made = Generation(since)
    for word in words:
        made.add(word)
    return made


# Streams under a policy ------------------------------------------------------------------------


def _gate(gate: LiveGate, parts: list[bytes]) -> Plain:
    state, log = gate.dump()
    first = len(parts)
    parts += [state or b"", ipc_bytes(log)]
    return {"part": first, "has_state": state is not None, "rows": _waiting(gate.waiting)}


def _restore_gate(gate: LiveGate, about: Plain, parts: list[bytes], runner: LiveRunner) -> None:
    state, log = parts[about["part"] : about["part"] + 2]
    waiting = [
        _arrival(runner, gate.names[0], (time, values, value_of(group)))
        for time, values, group in about["rows"]
    ]
    decided = pa.ipc.open_stream(log).read_all()
    gate.load(state if about["has_state"] else None, decided, waiting)


def _waiting(arrivals: Iterable[Arrival]) -> list[list[Any]]:
    return [[each.time, each.values, plain(each.group)] for each in arrivals]


# Queries with a ring ---------------------------------------------------------------------------


def _query(query: Live, parts: list[bytes]) -> Plain:
    if isinstance(query, LiveForecast):
        first = len(parts)
        parts.append(query.stage.dump(query.state))
        if query.filtered is not None and query.believed is not None:
            parts.append(query.filtered.dump(query.believed))
        rows = {name: _waiting(kept) for name, kept in query.rows.items()}
        return {"part": first, "horizon": query.horizon, "rows": rows}
    if isinstance(query, LiveSteps):
        return _steps(query, parts)
    if isinstance(query, LiveIdentified):
        return _identified(query, parts)
    parts.append(ipc_bytes(_ring_table(query)))
    return {
        "part": len(parts) - 1,
        "layout": query.encoder.layout(),
        "reported": query.reported,
        "arrivals": query.arrivals,
        "codes": [_codes(codes) for codes in query.encoder.codes],
        "waiting": [[number, _encoded(each)] for _, _, number, each in sorted(query.waiting)],
    }


def _codes(codes: LiveCodes) -> Plain:
    known = [[plain(value), *found] for value, found in codes.known.items()]
    return {"known": known, "following": codes.following}


def _ring_table(query: LiveQuery) -> pa.Table:
    ring = query.ring
    rows = ring.rows()
    words = ring.words[rows]
    words[:, LINK] = 0
    columns: dict[str, Any] = {f"word_{k}": words[:, k] for k in range(words.shape[1])}
    for k, texts in enumerate(ring.texts):
        columns[f"text_{k}"] = pa.array([json.dumps(texts[row]) for row in rows], pa.string())
    partitions = [json.dumps(plain(ring.partition_of(row))) for row in rows]
    columns["partition"] = pa.array(partitions, pa.string())
    return pa.table(columns)


def _encoded(each: Encoded) -> Plain:
    group = None if each.arrival is None else plain(each.arrival.group)
    return {
        "tie": each.tie,
        "words": each.words,
        "texts": list(each.texts),
        "partition": plain(each.partition),
        "group": group,
        "stream": None if each.arrival is None else each.stream,
    }


def _restore_query(query: LiveQuery, about: Plain, parts: list[bytes], runner: LiveRunner) -> None:
    query.restart()
    if about["layout"] != query.encoder.layout():
        raise StateError(
            f"the live events of query {query.plan.query.name} were stored as "
            f"{', '.join(about['layout'])}, and this release stores them otherwise; "
            "use the release that wrote them, or start without them"
        )
    for codes, written in zip(query.encoder.codes, about["codes"], strict=True):
        codes.known = {value_of(value): (code, time) for value, code, time in written["known"]}
        codes.following = written["following"]
    query.link()
    query.reported, query.arrivals = about["reported"], about["arrivals"]
    for each in _ring_events(pa.ipc.open_stream(parts[about["part"]]).read_all()):
        query.enter(each)
    for number, written in about["waiting"]:
        query.wait(number, _decoded(written, runner))


def _ring_events(table: pa.Table) -> list[Encoded]:
    names = table.column_names
    words = [table.column(n).to_numpy() for n in names if n.startswith("word_")]
    texts = [table.column(n).to_pylist() for n in names if n.startswith("text_")]
    partitions = table.column("partition").to_pylist()
    rows = np.stack(words, axis=1).tolist()
    return [
        Encoded(
            row[1], 0, row, tuple(json.loads(column[k]) for column in texts),
            value_of(json.loads(partitions[k])), None,
        )
        for k, row in enumerate(rows)
    ]  # fmt: skip


def _decoded(written: Plain, runner: LiveRunner) -> Encoded:
    words, partition = written["words"], value_of(written["partition"])
    arrival = None
    if written["stream"] is not None:
        group = value_of(written["group"])
        arrival = _arrival(runner, written["stream"].lower(), (words[1], {}, group))
    return Encoded(
        words[1], written["tie"], words, tuple(written["texts"]), partition, arrival,
        written["stream"] or "",
    )  # fmt: skip


# Queries that go by steps -----------------------------------------------------------------------


def _steps(query: LiveSteps, parts: list[bytes]) -> Plain:
    whole = query.shard.whole(query.state)
    first = len(parts)
    parts += [whole.head, *whole.added.values()]
    return {"part": first, "blocks": list(whole.added), "rows": _rows(query.rows)}


def _rows(waiting: Waiting) -> Plain:
    return {
        name: [[time, arrival.values, plain(arrival.group)] for time, arrival in kept]
        for name, kept in waiting.items()
    }


def _restore_steps(query: LiveSteps, about: Plain, parts: list[bytes], runner: LiveRunner) -> None:
    first, numbers = about["part"], about["blocks"]
    blocks = dict(zip(numbers, parts[first + 1 :], strict=False))
    query.state = query.shard.load(parts[first], blocks)
    query.rows |= _restored_rows(about["rows"], runner)
    query.aside = {name: runner.entrances[name].rejected for name in query.rows}


def _restored_rows(written: Plain, runner: LiveRunner) -> Waiting:
    return {
        name: [
            (time, _arrival(runner, name, (time, values, value_of(group))))
            for time, values, group in kept
        ]
        for name, kept in written.items()
    }


def _arrival(runner: LiveRunner, stream: str, row: tuple[int, Any, Hashable]) -> Arrival:
    time, values, group = row
    return Arrival(time, values, group, _alternatives(runner, stream, group))


def _alternatives(runner: LiveRunner, stream: str, group: Hashable) -> Alternatives | None:
    """Return what the entrance remembers of an event's alternatives."""
    same = runner.entrances[stream].known.get(group) if group is not None else None
    return same if isinstance(same, Alternatives) else None


# Forecasts ----------------------------------------------------------------------------------------


def _restore_forecast(
    query: LiveForecast, about: Plain, parts: list[bytes], runner: LiveRunner
) -> None:
    query.horizon = about["horizon"]
    query.state = query.stage.restore({}, query.horizon, parts[about["part"]])
    if query.filtered is not None:
        query.believed = query.filtered.load(parts[about["part"] + 1])
    query.aside = {name: runner.entrances[name].rejected for name in query.rows}
    rows = _restored_rows(about["rows"], runner)
    query.rows |= {name: [arrival for _, arrival in kept] for name, kept in rows.items()}


# Streams whose events get owners ------------------------------------------------------------------


def _identified(query: LiveIdentified, parts: list[bytes]) -> Plain:
    query.flush()
    first = len(parts)
    logs = (query.log, query.aside, *([query.decisions] if query.decisions else []))
    tables = (pa.concat_tables(each) for each in logs)
    parts += [query.stage.dump(query.state), *map(ipc_bytes, tables)]
    return {"part": first, "horizon": query.horizon}


def _restore_identified(query: LiveIdentified, about: Plain, parts: list[bytes]) -> None:
    state, *tables = parts[about["part"] : about["part"] + 3 + bool(query.decisions)]
    query.state, query.horizon, query.waiting = query.stage.load(state), about["horizon"], []
    logs = [[pa.ipc.open_stream(each).read_all()] for each in tables]
    query.log, query.aside, query.decisions = (*logs, [])[:3]

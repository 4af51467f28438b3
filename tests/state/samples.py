"""Stored states, one of each format version: what was written once must be read for ever.

`PYTHONPATH=tests python -m state.samples` writes those of the current versions, and leaves alone
what is there: a format that changes gets a new version, and a new sample.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from augury import Session
from augury.evaluation.executor import FORMAT as SHARD_FORMAT
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.probability.chain_shard import FORMAT as CHAIN_FORMAT
from augury.evaluation.probability.chain_shard import ChainShard
from augury.evaluation.row_blocks import Stored
from augury.evaluation.stages.act import FORMAT as ACT_FORMAT
from augury.evaluation.stages.act import ActStage, ActState
from augury.evaluation.stages.forecast import ForecastStage
from augury.evaluation.stages.forecast_state import FORMAT as FORECAST_FORMAT
from augury.evaluation.stages.sampled_forecast import FORMAT as SAMPLED_FORMAT
from augury.evaluation.stages.sampled_forecast import forecast_stage_of
from augury.evaluation.stages.suppress import FORMAT as POLICY_FORMAT
from augury.evaluation.stages.suppress import SuppressStage
from augury.evaluation.stream_rows import EVENT_ID, StreamRows
from augury.planning.forecast_plan import plan_forecast
from augury.planning.policy_plan import plan_policy
from augury.runners.live.state import FORMAT as LIVE_FORMAT
from forecast.staging import batch, rows_for, stage_of

FOLDER = Path(__file__).parent

SCRIPT = """
CREATE STREAM reads (id LONG, tag STRING, reader STRING, at LONG, price DOUBLE, p DOUBLE)
ID id KEY tag TIME at TYPE reader PROBABILITY p LATENESS 2;
CREATE STREAM places (person STRING, place STRING, at LONG, p DOUBLE)
KEY person TIME at ALTERNATIVES place PROBABILITY p;
CREATE QUERY taken ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.price >= x.price WITHIN 100 RETURN x.price AS price;
CREATE QUERY moved ON places PATTERN SEQ(places a, places b)
WHERE [person] AND a.place <> b.place WITHIN 50;
CREATE QUERY twice ON taken PATTERN SEQ(taken a, taken b) WITHIN 200;
"""
READS = [
    (1, "x", "SHELF", 1, 2.5, 0.5),
    (2, "y", "SHELF", 2, 1.0, 1.0),
    (3, "x", "COUNTER", 4, None, 0.25),
    (4, "y", "EXIT", 6, 1.5, 0.5),
    (5, "x", "EXIT", 7, 3.0, 1.0),
    (6, "x", "EXIT", 20, 2.0, 1.0),
]
PLACES = [("joe", "a", 1, 0.5), ("joe", "b", 1, 0.4), ("joe", "b", 3, 0.5), ("sue", "c", 4, 1.0)]
BEFORE = 4
HORIZON = 3


def session() -> Session:
    """Return a session with the declarations that the samples were written under."""
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    return ag


def reads() -> list[dict[str, Any]]:
    names = ("id", "tag", "reader", "at", "price", "p")
    return [dict(zip(names, row, strict=True)) for row in READS]


def places() -> list[dict[str, Any]]:
    return [dict(zip(("person", "place", "at", "p"), row, strict=True)) for row in PLACES]


def shard() -> Executor:
    """Return the shard of a streaming run on Spark that the samples of its state belong to."""
    ag = session()
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    return Executor(Network.of(["taken", "twice"], queries, ag._declared.catalog), stores=True)


CHAINS = """
CREATE STREAM places (person STRING, place STRING, at LONG, p DOUBLE)
KEY person TIME at ALTERNATIVES place PROBABILITY p;
CREATE QUERY moving ON places PATTERN SEQ(places a, places b) WHERE [person] AND a.place = 'a'
AFTER WHERE b.place = 'b' USING SKIP TILL NEXT MATCH GROUP BY person RETURN PROBABILITY BY TIME;
"""


def chain_shard() -> ChainShard:
    """Return the shard that carries probabilities, to which the samples of its state belong."""
    ag = Session(engine="local")
    ag.sql(CHAINS)
    queries = {name: query for name, (query, _) in ag._declared.queries.items()}
    return ChainShard(Network.of(["moving"], queries, ag._declared.catalog))


def places_of(own: ChainShard, rows: list[dict[str, Any]]) -> dict[str, pa.Table]:
    """Return rows of the stream `places` as they come to a shard."""
    told = [row | {EVENT_ID: str(k)} for k, row in enumerate(rows)]
    return {"places": pa.Table.from_pylist(told, own.schemas["places"])}


def reads_of(own: Executor, rows: list[dict[str, Any]]) -> dict[str, pa.Table]:
    """Return rows of the stream `reads` as they come to a shard."""
    return {"reads": pa.Table.from_pylist(rows, own.schemas["reads"])}


def in_one_file(stored: Stored) -> bytes:
    """Return the head of a state and its blocks, each behind its length."""
    parts = [stored.head, *(stored.added[number] for number in sorted(stored.added))]
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def stored_of(path: Path) -> tuple[bytes, dict[int, bytes]]:
    """Return what `in_one_file` wrote."""
    data, parts = path.read_bytes(), list[bytes]()
    while data:
        end = 4 + int.from_bytes(data[:4], "little")
        parts.append(data[4:end])
        data = data[end:]
    return parts[0], dict(enumerate(parts[1:]))


BADGES = """
CREATE STREAM doors (id LONG, worker STRING, action STRING, t LONG, seq LONG)
ID id KEY worker TIME t ORDER BY seq TYPE action;
CREATE TABLE badges (worker STRING, n LONG) KEY worker;
CREATE TABLE log (worker STRING, at LONG);
CREATE QUERY came ON doors PATTERN SEQ(ENTER e)
WHERE [worker] AND 3 > (SELECT n FROM badges WHERE worker = e.worker) WITHIN 1;
CREATE RULE note ON came
BEGIN
    UPDATE badges SET n = n + 1 WHERE worker = new.worker;
    INSERT INTO log VALUES (new.worker, new.ts);
END;
"""
BEFORE_NOON = 4


def act_stage() -> tuple[ActStage, dict[str, pa.Table]]:
    """Return what acts, and its candidates: one a tick."""
    ag = Session(engine="local")
    ag.sql(BADGES)
    ag.bind("badges", [{"worker": "ann", "n": 0}, {"worker": "bob", "n": 2}])
    names = ("id", "worker", "action", "t", "seq")
    walk = [(k, "ann" if k % 2 else "bob", "ENTER", k, k) for k in range(8)]
    ag.bind("doors", [dict(zip(names, row, strict=True)) for row in walk])
    stage = ActStage.of(ag._declared.catalog, ag._declared.checked_queries, ag._bound.rows)
    return stage, {name: ag._bound.local_runner().table(name) for name in stage.acting.candidates}


def acted() -> tuple[ActStage, ActState]:
    """Return the state in which some candidates are settled and others wait."""
    stage, candidates = act_stage()
    state, _ = stage.advance(stage.start(), candidates, BEFORE_NOON)
    return stage, state


WARD = """
CREATE STREAM ward (id LONG, act STRING, t LONG) ID id TIME t TYPE act;
CREATE STREAM before (id LONG, act STRING, t LONG) ID id TIME t TYPE act;
CREATE QUERY shown ON ward PATTERN SEQ(A a, B b) WITHIN 5;
CREATE QUERY hidden ON ward PATTERN SEQ(A a, B b, C c) WITHIN 5;
CREATE POLICY discreet ON ward PUBLIC shown PRIVATE hidden WEIGHT 2
USING HYBRID LEARN FROM before {} PATIENCE 1;
"""
HISTORY = "abcabdab"


def suppress_stage(version: int) -> SuppressStage:
    """Return a policy before a stream: that of which a sample has that version.

    The first has every prefix one by one, the second sums them up.
    """
    ag = Session(engine="local")
    ag.sql(WARD.format("ONLINE" if version == 1 else ""))
    catalog = ag._declared.catalog
    plan = plan_policy(catalog.policies["discreet"], ag._declared.checked_queries, catalog, {})
    return SuppressStage(plan, catalog.streams["ward"])


def acts(stage: SuppressStage, types: str) -> StreamRows:
    """Return one event of each type, one a tick; histories end at 0."""
    begin = -len(types) if types == HISTORY else ord(types[0]) - ord("a")
    times = range(begin, begin + len(types))
    table = pa.table({"id": list(times), "act": list(types.upper()), "t": list(times)})
    return StreamRows(stage.stream, table, table.slice(0, 0))


FORECAST = """
CREATE STREAM logins (id LONG, ip STRING, status STRING, t LONG) ID id TIME t TYPE status;
CREATE QUERY intrusion ON logins PATTERN SEQ(DENIED a, DENIED b, SUCCESS c) WHERE [ip] WITHIN 50;
CREATE FORECAST break_in ON intrusion WITHIN 3 EVENTS USING MARKOV 1 LEARN ONLINE ARRIVALS STEADY;
"""
STANDING = """
CREATE STREAM logins (id LONG, ip STRING, status STRING, t LONG) ID id TIME t TYPE status;
CREATE STREAM history (id LONG, ip STRING, status STRING, t LONG) ID id TIME t TYPE status;
CREATE QUERY intrusion ON logins PATTERN SEQ(DENIED a, DENIED b, SUCCESS c);
CREATE FORECAST break_in ON intrusion WITHIN 3 EVENTS USING MARKOV 1 LEARN FROM history
HAVING FORECAST > 0.1;
"""
LOGINS = ["DENIED", "DENIED", "SUCCESS", "DENIED", "DENIED", "SUCCESS", "DENIED", "DENIED"]


def forecast_stage(version: int = FORECAST_FORMAT.version) -> ForecastStage:
    """Return a forecast that learns as it goes; from version 2 on, one whose state is sets."""
    if version == 1:
        return stage_of(FORECAST, name="break_in")
    return stage_of(STANDING, logins(), name="break_in")


DRAWN = (
    "CREATE STREAM history (id LONG, ip STRING, status STRING, t LONG) ID id TIME t TYPE status;"
)
DRAWN += FORECAST.replace(
    "USING MARKOV 1 LEARN ONLINE ARRIVALS STEADY",
    "USING MARKOV 1 LEARN FROM history APPROXIMATE (0.1, 0.1)",
).replace("WHERE [ip]", "WHERE [ip] AND b.id > a.id + 1")


def drawn_stage() -> ForecastStage:
    """Return a forecast that draws futures from a history."""
    ag = Session(engine="local")
    ag.sql(DRAWN)
    catalog = ag._declared.catalog
    plan = plan_forecast(ag._declared.forecasts["break_in"][0], catalog)
    return forecast_stage_of(plan, {}, rows_for(catalog.streams["history"], logins()))


def logins() -> list[dict[str, Any]]:
    return [
        {"id": k, "ip": "ab"[k // 2 % 2], "status": status, "t": 2 * k}
        for k, status in enumerate(LOGINS)
    ]


def current() -> dict[Path, bytes]:
    """Return the samples of the current versions."""
    ag = session()
    ag.push("reads", reads()[:BEFORE])
    ag.push("places", places()[:2])
    part = shard()
    held, _ = part.advance(part.start(), reads_of(part, reads()[:BEFORE]), HORIZON)
    ward = suppress_stage(POLICY_FORMAT.version)
    decided, _ = ward.advance(ward.start(acts(ward, HISTORY)), acts(ward, "ab"))
    stage = forecast_stage()
    followed, _ = stage.advance(stage.start(), batch(stage, logins()[:6]), 12)
    drawn = drawn_stage()
    read, _ = drawn.advance(drawn.start(), batch(drawn, logins()[:6]), 12)
    own, settled = acted()
    chains = chain_shard()
    carried, _ = chains.advance(chains.start(), places_of(chains, places()[:3]), HORIZON)
    return {
        FOLDER / f"chains_{CHAIN_FORMAT.version}.state": chains.dump(carried),
        FOLDER / f"shard_{SHARD_FORMAT.version}.state": in_one_file(part.stored(held)),
        FOLDER / f"live_{LIVE_FORMAT.version}.state": ag.checkpoint(),
        FOLDER / f"forecast_{FORECAST_FORMAT.version}.state": stage.dump(followed),
        FOLDER / f"sampled_{SAMPLED_FORMAT.version}.state": drawn.dump(read),
        FOLDER / f"policy_{POLICY_FORMAT.version}.state": ward.dump(decided),
        FOLDER / f"acting_{ACT_FORMAT.version}.state": own.dump(settled),
    }


if __name__ == "__main__":
    for path, data in current().items():
        if not path.exists():
            path.write_bytes(data)

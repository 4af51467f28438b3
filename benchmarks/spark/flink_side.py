"""The Flink half of against_flink.py; it runs in an environment of its own, where PyFlink is.

SEQ of 3 under skip-till-next-match, per key, as MATCH_RECOGNIZE: from each A, rows that are not B
up to the first B, then rows that are not C up to the first C; every A may start a match. Flink's
WITHIN is exclusive. Prints one line of JSON: the seconds of each round.

Run: python flink_side.py EVENTS OUT WARM ROUNDS CORES JARS [batch] [filtered]
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time

from processes import processor
from pyflink.table import EnvironmentSettings, TableEnvironment

WINDOW_SECONDS = 10

SOURCE = """
CREATE TABLE {name} (
    id BIGINT, `key` BIGINT, kind STRING, t BIGINT, p DOUBLE,
    happened AS TO_TIMESTAMP_LTZ(t, 3), WATERMARK FOR happened AS happened
) WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'parquet')
"""
SINK = """
CREATE TABLE {name} (a BIGINT, b BIGINT, c BIGINT)
WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv')
"""
QUERY = """
INSERT INTO {sink} SELECT a, b, c FROM {source} MATCH_RECOGNIZE (
    PARTITION BY `key` ORDER BY happened
    MEASURES A.id AS a, B.id AS b, C.id AS c
    ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A X* B Y* C) WITHIN INTERVAL '{window}' SECOND
    DEFINE A AS A.kind = 'A', X AS X.kind <> 'B', B AS B.kind = 'B',
           Y AS Y.kind <> 'C', C AS C.kind = 'C')
"""


def environment(batch: bool, cores: int, jars: list[str]) -> TableEnvironment:
    """Return a table environment with one worker per core, on loopback."""
    shape = EnvironmentSettings.new_instance()
    shape = shape.in_batch_mode() if batch else shape.in_streaming_mode()
    table = TableEnvironment.create(shape.build())
    settings = {
        "parallelism.default": str(cores),
        "pipeline.jars": ";".join(f"file://{jar}" for jar in jars),
        "pipeline.object-reuse": "true",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "table.local-time-zone": "UTC",
        "taskmanager.numberOfTaskSlots": str(cores),
    }
    for key, value in settings.items():
        table.get_config().set(key, value)
    return table


def seconds(table: TableEnvironment, name: str, events: str, out: str, filtered: bool) -> tuple:
    """Run the query over a folder of Parquet files; return its seconds, of clock and processor."""
    shutil.rmtree(out, ignore_errors=True)
    table.execute_sql(SOURCE.format(name=f"events_{name}", path=events))
    table.execute_sql(SINK.format(name=f"matches_{name}", path=out))
    source = f"events_{name}"
    if filtered:
        table.execute_sql(
            f"CREATE VIEW few_{name} AS SELECT * FROM {source} WHERE kind IN ('A', 'B', 'C')"
        )
        source = f"few_{name}"
    text = QUERY.format(sink=f"matches_{name}", source=source, window=WINDOW_SECONDS)
    start, busy = time.perf_counter(), processor(os.getpid())
    table.execute_sql(text).wait()
    return time.perf_counter() - start, processor(os.getpid()) - busy


def main() -> None:
    """Measure, after one run over the warm-up folder."""
    events, out, warm, rounds, cores, jars, *words = sys.argv[1:]
    table = environment("batch" in words, int(cores), jars.split(","))
    seconds(table, "warm", warm, out, "filtered" in words)
    taken = [
        seconds(table, f"round_{k}", events, out, "filtered" in words) for k in range(int(rounds))
    ]
    print(json.dumps(taken))


if __name__ == "__main__":
    main()

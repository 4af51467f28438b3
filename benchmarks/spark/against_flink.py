"""augury against Flink's MATCH_RECOGNIZE: the same file, the same pattern, the same matches.

SEQ of 3 under skip-till-next-match, per key, in a window; 1,000 keys, 2 M certain events in one
Parquet file; all cores for each. Everyone reads the file and writes the matches to a file. Sessions
are started, and kernels compiled, before the clock runs; since a run of augury is over before
Spark's JVM has compiled what it does, as Flink's has after some of its twenty seconds, runs before
the measured ones warm it up. Flink is installed by pip into an
environment of its own under ~/.cache/augury-bench, its Parquet reader by Maven; Hadoop's classes,
which that reader needs, are those of PySpark. Flink runs in streaming and in batch mode, with
the pattern over the whole stream and over the three types that it names; each run is listed, and
augury is compared with the pattern as written and with the fastest. Bare Spark of `floor.py` moves
the same rows and computes nothing.
Run: python benchmarks/spark/against_flink.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import events
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from floor import bare
from measuring import (
    CACHE,
    ROUNDS,
    Seconds,
    cores,
    drain,
    median,
    medians,
    ratio,
    record,
    scale,
    scaled,
    scratch,
    session,
    shown,
)
from patterns import NEXT_MATCH, asked, require_equal, triples

FLINK = "2.3.0"
HOME = CACHE / "flink"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
WAYS = {
    "streaming": [],
    "batch": ["batch"],
    "streaming_filtered": ["filtered"],
    "batch_filtered": ["batch", "filtered"],
}
AS_WRITTEN = ("streaming", "batch")
OURS = ("local", "spark")
WARM_UPS = 20


def installed() -> Path:
    """Return the Python of Flink's environment; make it unless it is there."""
    python = HOME / "bin" / "python"
    if not (HOME / "lib").exists() or not list(HOME.glob("lib/*/site-packages/pyflink")):
        if not (3, 9) <= sys.version_info[:2] <= (3, 12):
            raise SystemExit(f"PyFlink {FLINK} needs Python 3.9 to 3.12, and this is another")
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, f"apache-flink=={FLINK}"], check=True, timeout=1200)
    return python


def jars() -> list[Path]:
    """Return Flink's Parquet reader and the classes it needs."""
    import pyspark  # noqa: PLC0415

    reader = CACHE / "jars" / f"flink-sql-parquet-{FLINK}.jar"
    if not reader.exists():
        artifact = f"-Dartifact=org.apache.flink:flink-sql-parquet:{FLINK}"
        folder = f"-DoutputDirectory={reader.parent}"
        subprocess.run(["mvn", "-q", "-B", COPY, artifact, folder], check=True, timeout=300)
    hadoop = Path(pyspark.__file__).parent / "jars"
    return [reader, *sorted(hadoop.glob("hadoop-client-*.jar"))]


def flink(way: str, n: int, out: Path) -> Seconds:
    """Return the median seconds of Flink, run in its own process."""
    side = Path(__file__).with_name("flink_side.py")
    file, warm = events.files(n, size=n), events.files(20_000)
    libraries = ",".join(map(str, jars()))
    command = [installed(), side, file, out, warm, ROUNDS, cores(), libraries, *WAYS[way]]
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        list(map(str, command)),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return median(Seconds(*each) for each in json.loads(done.stdout.splitlines()[-1]))


def flink_matches(out: Path) -> Any:
    """Return the matches that Flink wrote."""
    options = pyarrow.csv.ReadOptions(column_names=["a", "b", "c"])
    form = ds.CsvFileFormat(read_options=options)
    files = [str(path) for path in out.rglob("*") if path.is_file() and path.stat().st_size]
    return triples(ds.dataset(files, format=form).to_table())


def local(folder: Path, out: Path) -> None:
    """Read the file, answer in this process, and write the matches."""
    pq.write_table(asked(NEXT_MATCH, folder, columns=["a", "b", "c"]), out)


def ours(n: int, out: Path) -> tuple[dict[str, Seconds], dict[str, Any]]:
    """Return the median seconds of the local engine and of Spark, and their matches."""
    folder = events.files(n, size=n)
    with session("against Flink") as spark:
        rows = spark.read.parquet(str(folder))
        found = asked(NEXT_MATCH, rows, spark, ["a", "b", "c"])
        taken = medians(
            {
                "local": lambda: local(folder, out / "local.parquet"),
                "spark": lambda: found.write.mode("overwrite").parquet(str(out / "spark")),
                "bare_spark": lambda: drain(bare(rows, cores())),
            },
            warm_ups=WARM_UPS if scale() >= 1 else 1,
        )
    paths = {"local": out / "local.parquet", "spark": out / "spark"}
    return taken, {name: triples(ds.dataset(path).to_table()) for name, path in paths.items()}


def main() -> None:
    """Measure."""
    n = scaled(2_000_000)
    with scratch() as out:
        taken, found = ours(n, out)
        theirs: dict[str, Seconds] = {}
        for way in WAYS:
            theirs[way] = flink(way, n, out / "flink")
            found[f"flink_{way}"] = flink_matches(out / "flink")
            shutil.rmtree(out / "flink")
        matches = require_equal(found)
    written, fastest = min(theirs[way] for way in AS_WRITTEN), min(theirs.values())
    everyone = {**taken, **{f"flink_{way}": each for way, each in theirs.items()}}
    record(
        "spark_against_flink",
        {
            "events": n,
            "matches": matches,
            "flink": FLINK,
            "seconds": shown(everyone),
            "events_per_second": {name: round(n / s.clock) for name, s in everyone.items()},
            "times_flink": {name: ratio(written, taken[name], 1) for name in OURS},
            "times_fastest_flink": {name: ratio(fastest, taken[name], 1) for name in OURS},
            "bare_spark_times_flink": ratio(written, taken["bare_spark"], 1),
        },
    )


if __name__ == "__main__":
    main()

"""A Delta table as a sink: one row per match, the newest revision of it, whatever is repeated.

A batch is merged by `match_id`: a row takes the place of one whose revision is not newer. What has
no such id (rows of a forecast, the log of all revisions) is appended. Either bears the run's id and
the number of the batch (`txnAppId`, `txnVersion`): Delta leaves a batch alone that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from augury.errors import AuguryError, StateError
from augury.sinks.sink import Mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXTENSION, CATALOG = "spark.sql.extensions", "spark.sql.catalog.spark_catalog"
SETTINGS = {
    EXTENSION: "io.delta.sql.DeltaSparkSessionExtension",
    CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_APP, _VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
_IDS = ("match_id", "firing_id")


def coordinates(spark_version: str) -> str:
    """Return the package of Delta for a release of Spark.

    >>> coordinates("4.2.0")
    'io.delta:delta-spark_4.2_2.13:4.4.0'
    """
    major, minor, *_ = spark_version.split(".")
    return f"io.delta:delta-spark_{major}.{minor}_2.13:4.4.0"


@dataclass(frozen=True)
class DeltaSink:
    """A Delta table at a path; `run` is the run's own id."""

    spark: Any
    path: str
    name: str
    run: str
    options: Mapping[str, str] = field(default_factory=dict)
    mode: Mode = "upsert"

    def open(self) -> None:
        """Make sure that Spark knows Delta."""
        if "DeltaSparkSessionExtension" not in (self.spark.conf.get(EXTENSION, None) or ""):
            named = " and ".join(f"{key}={value}" for key, value in SETTINGS.items())
            raise AuguryError(
                f"WRITE {self.name} TO delta needs a Spark session with Delta; start it with "
                f"{named}, and with the package {coordinates(self.spark.version)}"
            )

    def write(self, rows: DataFrame, batch: int) -> None:
        """Merge the rows of a batch, or append them; once."""
        key = next((each for each in _IDS if each in rows.columns), None)
        with self._transaction(batch):
            if self.mode == "append" or key is None or not self._is_there():
                self._append(rows, batch)
            else:
                self._merge(rows, key)

    def clear(self, batch: int) -> None:
        """Do nothing: what a batch has written stays, and is not written again."""

    @property
    def _application(self) -> str:
        return f"augury {self.run} {self.name}"

    @contextmanager
    def _transaction(self, batch: int) -> Iterator[None]:
        """Let the statements within be a transaction that Delta takes once."""
        self.spark.conf.set(_APP, self._application)
        self.spark.conf.set(_VERSION, str(batch))
        try:
            yield
        finally:
            self.spark.conf.unset(_APP)
            self.spark.conf.unset(_VERSION)

    def _is_there(self) -> bool:
        path = self.spark._jvm.org.apache.hadoop.fs.Path(f"{self.path}/_delta_log")
        files = path.getFileSystem(self.spark._jsc.hadoopConfiguration())
        if files.exists(path):
            return True
        if files.exists(path.getParent()) and files.listStatus(path.getParent()):
            raise StateError(f"{self.path} holds files that are no Delta table; write elsewhere")
        return False

    def _append(self, rows: DataFrame, batch: int) -> None:
        writer = rows.write.format("delta").mode("append").options(**self.options)
        own = {"txnAppId": self._application, "txnVersion": str(batch)}
        writer.options(**own).save(self.path)

    def _merge(self, rows: DataFrame, key: str) -> None:
        rows.createOrReplaceTempView("augury_batch")
        session = rows.sparkSession
        newer = " AND b.revision >= t.revision" if "revision" in rows.columns else ""
        place = self.path.replace("`", "``")
        session.sql(
            f"MERGE INTO delta.`{place}` t USING augury_batch b ON t.{key} = b.{key} "
            f"WHEN MATCHED{newer} THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

"""What stands after FROM, as a DataFrame: the entrance of every run on Spark.

The result has the declared columns and, where rows are texts, the text and the fault of each row
(`augury.sources.declared`). Nothing is read before the DataFrame is asked for rows, except what
tells whether the place is there and what columns it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from augury.errors import DataError
from augury.sources.declared import DeclaredStream, DeclaredTable, needed
from augury.sources.files import read_folder
from augury.sources.kafka import read_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(spark: SparkSession, schema: DeclaredStream, streaming: bool) -> DataFrame:
    """Return the rows of a stream from where its FROM says."""
    source = schema.source
    if source is None:
        raise DataError(
            f"stream {schema.name} has no FROM; add one, bind a DataFrame from Python, or name "
            f"its place with --source {schema.name}=parquet:PATH"
        )
    try:
        if source.format == "kafka":
            return read_topic(spark, schema, source, streaming)
        return read_folder(spark, schema, source, streaming, needed(schema))
    except (Py4JError, PySparkException) as problem:
        # What Java throws does not know whose place it was.
        problem.add_note(f"stream {schema.name} is read from {source.format} {source.path!r}")
        raise


def read_table(spark: SparkSession, schema: DeclaredTable) -> DataFrame:
    """Return the rows of a table from where its FROM says; tables stand still."""
    source = schema.source
    if source is None:
        raise DataError(f"table {schema.name} has no FROM; add one, or bind it from Python")
    return read_folder(spark, schema, source, False, [])

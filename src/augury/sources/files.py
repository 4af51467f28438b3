"""Folders of Parquet, CSV or JSON files as rows of a stream, still or arriving.

Parquet has types of its own. CSV has a header, whose names are matched without regard to case; all
files of a folder have the same. JSON has one object a line. What is wrong with a row becomes its
fault (`augury.sources.texts`); what is wrong with the folder is a `DataError`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from augury.errors import DataError
from augury.sources.declared import DeclaredTable, kinds
from augury.sources.texts import SPARK_TYPES, quoted, read_fields, read_objects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from augury.language.tree import External

_CORRUPT = "_augury_line"


def read_folder(
    spark: SparkSession,
    declared: DeclaredTable,
    source: External,
    streaming: bool,
    must_have: list[str],
) -> DataFrame:
    """Return the rows of a folder; `must_have` are the columns that a JSON row cannot lack."""
    if streaming:
        _refuse_a_file(declared, source)
    if source.format == "parquet":
        return _parquet(spark, declared, source, streaming)
    if source.format == "csv":
        return _csv(spark, declared, source, streaming)
    lines = _reader(spark, source, streaming).format("text").load(_found(spark, declared, source))
    filled = lines.where(f.trim(f.col("value")) != "")
    return read_objects(filled, kinds(declared), must_have)


def _refuse_a_file(declared: DeclaredTable, source: External) -> None:
    """Raise where a path of this machine is one file: Spark streams what arrives in folders."""
    path = Path(_path(source).removeprefix("file://"))
    if path.is_file():
        raise DataError(
            f"{declared.name} comes from {source.format} {_path(source)!r}, which is a file, and a "
            f"streaming run reads folders; name the folder {str(path.parent)!r}, or run it in batch"
        )


def _reader(spark: SparkSession, source: External, streaming: bool) -> Any:
    reader = spark.readStream if streaming else spark.read
    return reader.options(**source.settings)


def _path(source: External) -> str:
    assert source.path is not None
    return source.path


def _found(spark: SparkSession, declared: DeclaredTable, source: External) -> str:
    """Return the path if something is there; Spark says so before it reads any row."""
    path = _path(source)
    _asked(lambda: spark.read.format("text").load(path).schema, declared, source)
    return path


def _asked(question: Callable[[], Any], declared: DeclaredTable, source: External) -> Any:
    try:
        return question()
    except AnalysisException as problem:
        condition = problem.getCondition() or ""
        if condition.startswith("PATH_NOT_FOUND"):
            raise DataError(
                f"{declared.name} comes from {source.format} {_path(source)!r}, which does not "
                "exist; create the folder, correct the path after FROM, or name another one "
                f"with --source {declared.name}={source.format}:PATH"
            ) from problem
        if condition.startswith("UNABLE_TO_INFER_SCHEMA"):
            return None
        raise DataError(
            f"{declared.name} cannot be read from {source.format} {_path(source)!r}: "
            f"{str(problem).splitlines()[0]}"
        ) from problem


def _parquet(
    spark: SparkSession, declared: DeclaredTable, source: External, streaming: bool
) -> DataFrame:
    path = _path(source)
    schema = _asked(lambda: _reader(spark, source, False).parquet(path).schema, declared, source)
    if schema is None:  # an empty folder has no types yet
        columns = kinds(declared).items()
        schema = ", ".join(f"{quoted(name)} {SPARK_TYPES[kind]}" for name, kind in columns)
    rows: DataFrame = _reader(spark, source, streaming).schema(schema).parquet(path)
    return rows


def _csv(
    spark: SparkSession, declared: DeclaredTable, source: External, streaming: bool
) -> DataFrame:
    names = _header(spark, declared, source)
    schema = StructType([StructField(name, StringType()) for name in (*names, _CORRUPT)])
    reader = _reader(spark, source, streaming).options(
        header="true", enforceSchema="false", mode="PERMISSIVE", columnNameOfCorruptRecord=_CORRUPT
    )
    return read_fields(reader.schema(schema).csv(_path(source)), kinds(declared), _CORRUPT)


def _header(spark: SparkSession, declared: DeclaredTable, source: External) -> list[str]:
    """Return the names of the header, or the declared ones where the folder is still empty."""
    reader = _reader(spark, source, False).options(header="true", inferSchema="false")
    found = _asked(lambda: reader.csv(_path(source)).columns, declared, source)
    names: list[str] = found or list(kinds(declared))
    known = {name.lower() for name in names}
    for name in kinds(declared):
        if name.lower() not in known:
            raise DataError(
                f"{declared.name} declares column {name}, which {_path(source)!r} does not have; "
                f"its header has {', '.join(names)}: rename one, or change the declaration"
            )
    return names

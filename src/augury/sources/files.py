"""Folders of Parquet, CSV or JSON files as rows of a stream, still or arriving.

Parquet has types of its own. CSV has a header, whose names are matched without regard to case, or,
with `header = 'false'`, the declared columns in their order; all files of a folder have the same.
JSON has one object a line, or lists of them; with `multiLine = 'true'` a file is one object or one
list. What is wrong with a row becomes its fault (`augury.sources.texts`); what is wrong with the
folder is a `DataError`. Files that are no data are skipped (`augury.sources.strays`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from augury.errors import DataError
from augury.language.tree import External, Option
from augury.sources.declared import DeclaredTable, header_advice, kinds
from augury.sources.strays import glob, own_files, warn_of_strays
from augury.sources.texts import SPARK_TYPES, quoted, read_fields, read_objects
from augury.sources.time_forms import Forms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CORRUPT = "_augury_line"
# What stands in a text in place of bytes that are no UTF-8.
_REPLACED = "\ufffd"


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
    source = _without_strays(spark, declared, source)
    if source.format == "parquet":
        return _parquet(spark, declared, source, streaming)
    forms = _forms(spark, declared, source)
    if source.format == "csv":
        return _csv(spark, declared, source, streaming, forms)
    texts = _texts(spark, source, streaming).where(f.trim(f.col("value")) != "")
    return read_objects(texts, kinds(declared), must_have, forms)


def bound_folder(spark: SparkSession, name: str, path: str) -> DataFrame:
    """Return the rows of the Parquet files that a user binds by their place."""
    source = External("parquet", path)
    files = spark.read.format("text").load(path).inputFiles()
    own = _only_own(f"stream or table {name}", source, files)
    rows: DataFrame = spark.read.options(**own.settings).parquet(path)
    return rows


def _setting(source: External, name: str) -> str | None:
    """Return an option in any case."""
    return {key.lower(): value for key, value in source.settings.items()}.get(name.lower())


def _without_strays(spark: SparkSession, declared: DeclaredTable, source: External) -> External:
    """Return the source with the files of its format only; say which others lie there."""
    path = _path(source)
    asked = lambda: spark.read.format("text").load(path).inputFiles()  # noqa: E731
    files = _asked(asked, declared, source) or []
    if _setting(source, "pathGlobFilter") is not None:
        return source
    return _only_own(declared.name, source, files)


def _only_own(name: str, source: External, files: list[str]) -> External:
    _, strays = own_files(source.format, [unquote(file) for file in files])
    if not strays:
        return source
    warn_of_strays(name, source.format, _path(source), strays)
    option = Option("pathGlobFilter", glob(source.format))
    return replace(source, options=(*source.options, option))


def _forms(spark: SparkSession, declared: DeclaredTable, source: External) -> Forms:
    """Return how times are written; a form that Spark cannot read is an error now."""
    forms = Forms(_setting(source, "timestampFormat"), _setting(source, "dateFormat"))
    for option, form in (("timestampFormat", forms.timestamp), ("dateFormat", forms.date)):
        if form is None:
            continue
        try:
            spark.range(1).select(f.try_to_timestamp(f.lit("x"), f.lit(form))).collect()
        except PySparkException as problem:
            raise DataError(
                f"{declared.name} has {option} = {form!r}, which is no pattern of Spark's "
                f"({str(problem).splitlines()[0]})"
            ) from problem
    return forms


def _texts(spark: SparkSession, source: External, streaming: bool) -> DataFrame:
    """Return lines, or whole files, as UTF-8."""
    reader = _reader(spark, source, streaming)
    if (_setting(source, "multiLine") or "").lower() == "true":
        reader = reader.option("wholetext", "true")
    texts: DataFrame = reader.format("text").load(_path(source))
    encoding = _encoding(source)
    if encoding is None or encoding.upper() == "UTF-8":
        return texts
    decoded = f.decode(f.col("value").cast("binary"), encoding.upper())
    return texts.select(decoded.alias("value"))


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
    spark: SparkSession, declared: DeclaredTable, source: External, streaming: bool, forms: Forms
) -> DataFrame:
    has_header = (_setting(source, "header") or "true").lower() == "true"
    names = _header(spark, declared, source) if has_header else list(kinds(declared))
    schema = StructType([StructField(name, StringType()) for name in (*names, _CORRUPT)])
    reader = _csv_reader(spark, source, streaming).options(
        header=str(has_header).lower(),
        enforceSchema="false",
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=_CORRUPT,
    )
    rows = reader.schema(schema).csv(_path(source))
    odd = None if _encoding(source) else _REPLACED
    return read_fields(rows, kinds(declared), _CORRUPT, forms, odd)


def _csv_reader(spark: SparkSession, source: External, streaming: bool) -> Any:
    reader = _reader(spark, source, streaming)
    # Where characters take several bytes, Spark finds no ends of lines unless it reads whole files.
    is_wide = (_encoding(source) or "").upper().startswith(("UTF-16", "UTF-32"))
    return reader.option("multiLine", "true") if is_wide else reader


def _encoding(source: External) -> str | None:
    return _setting(source, "encoding") or _setting(source, "charset")


def _header(spark: SparkSession, declared: DeclaredTable, source: External) -> list[str]:
    """Return the names of the header, or the declared ones where the folder is still empty."""
    reader = _csv_reader(spark, source, False).options(header="true", inferSchema="false")
    found = _asked(lambda: reader.csv(_path(source)).columns, declared, source)
    names: list[str] = found or list(kinds(declared))
    known = {name.lower() for name in names}
    for name in kinds(declared):
        if name.lower() not in known:
            raise DataError(
                f"{declared.name} declares column {name}, which {_path(source)!r} does not have; "
                f"{_other_header(names, source)}"
            )
    return names


def _other_header(names: list[str], source: External) -> str:
    """Return what is there in place of the declared columns."""
    if _encoding(source) is None and any(_REPLACED in name or "\0" in name for name in names):
        return "its text is not UTF-8: say what it is, as in OPTIONS (encoding = 'UTF-16')"
    return header_advice(names)

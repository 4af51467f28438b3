"""What Java throws while a place is looked at tells whose place it was."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException

from augury.analysis.script import check_text
from augury.sources import spark_sources


def test_the_stream_and_its_place_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise IllegalArgumentException("UnknownHostException: nohost")

    monkeypatch.setattr(spark_sources, "read_folder", refuse)
    text = "CREATE STREAM reads (t LONG) TIME t FROM parquet 'hdfs://nohost:1/x';"
    stream = check_text(text).catalog.streams["reads"]
    with pytest.raises(IllegalArgumentException) as caught:
        spark_sources.read(None, stream, False)  # type: ignore[arg-type]
    assert caught.value.__notes__ == ["stream reads is read from parquet 'hdfs://nohost:1/x'"]

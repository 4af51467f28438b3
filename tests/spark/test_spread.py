"""Shards are ids_by_partition evenly over the partitions that Spark makes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from augury.runners.spark.shard_ids import ids_by_partition, partition_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(("shards", "partitions"), [(1, 1), (2, 2), (16, 3), (3, 16), (200, 200)])
def test_every_partition_gets_as_many_shards(shards: int, partitions: int) -> None:
    numbers = ids_by_partition(shards, partitions)
    assert len(set(numbers)) == shards
    loads = Counter(partition_of(number, partitions) for number in numbers)
    assert max(loads.values()) == -(-shards // partitions)


@pytest.mark.parametrize("partitions", [1, 2, 4, 8, 16])
def test_a_number_for_each_shard_is_even_over_every_divisor(partitions: int) -> None:
    numbers = ids_by_partition(16, 16, first=2**32)
    assert min(numbers) >= 2**32
    loads = Counter(partition_of(number, partitions) for number in numbers)
    assert set(loads.values()) == {16 // partitions}


@pytest.mark.spark
def test_the_partition_of_a_number_is_spark_s(spark: SparkSession) -> None:
    numbers = [0, 1, 2, 7, 2**31, 2**32, 2**40 + 3, 2**62]
    data = spark.createDataFrame([(n,) for n in numbers], "n long")
    found = dict(data.selectExpr("n", "pmod(hash(n), 7)").collect())
    assert {n: partition_of(n, 7) for n in numbers} == found

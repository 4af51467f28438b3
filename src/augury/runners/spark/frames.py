"""Spark's own kinds of rows and sessions, by names that can be told where Spark is absent."""

from __future__ import annotations

from pyspark.sql import DataFrame as SparkFrame
from pyspark.sql import SparkSession

__all__ = ["SparkFrame", "SparkSession"]

"""The runner on Spark: DataFrames in, lazy DataFrames out, batch or streaming."""

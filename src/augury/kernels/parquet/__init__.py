"""Columns of Parquet files, decoded page by page (docs/decisions/0017)."""

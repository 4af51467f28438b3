"""Policies over columns: rows as arrays, what a history teaches, decisions by kernels."""

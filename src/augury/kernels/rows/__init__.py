"""Kernels over columns of rows: numbers for values, hashes, sorting, texts."""

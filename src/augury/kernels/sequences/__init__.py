"""Kernels that answer plain sequences, counts and many queries without a search."""

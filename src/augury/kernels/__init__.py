"""Numba only: arrays in, arrays out, compiled once; queries reach kernels as data."""

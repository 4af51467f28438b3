"""Kernels of chains and hidden Markov models: arrays in, arrays out.

A package of their own, so that a change here does not make the search of matches compile anew (its
cache is named after the sources beside it). Shapes: T rows, Q automaton states, V hidden values,
K hidden states of a model.
"""

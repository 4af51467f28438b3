"""Kernels of the search for matches: the automaton, conditions, absences, bounds, reports."""

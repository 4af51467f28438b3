"""Checked query to physical plan: rewrites, automaton, partitioning, compiled expressions, explain."""

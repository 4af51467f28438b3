"""Checked query to physical plan: rewrites, automaton, partitioning, expressions, explain."""

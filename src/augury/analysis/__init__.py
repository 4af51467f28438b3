"""Syntax tree to checked query: catalog, names, types, rules, and the class of a query."""

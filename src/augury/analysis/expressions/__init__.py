"""Expressions: names, types, functions, and the equalities that follow from them."""

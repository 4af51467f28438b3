"""The clauses of a query, each with what it means and what it must obey."""

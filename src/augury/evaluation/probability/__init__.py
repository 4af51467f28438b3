"""How likely a query holds: by chains, by joins, from the lineage of matches."""

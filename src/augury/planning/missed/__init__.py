"""What a query says of components that were not read: variants, stretches, bounds, refusals."""

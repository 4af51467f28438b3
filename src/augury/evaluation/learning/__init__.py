"""What is learned from a history when a query is planned: gaps and correlations."""

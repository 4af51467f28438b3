"""The executor: stages over Arrow tables, with their state; no runner in it."""

"""Slow, obvious twins of the engine: they enumerate what the engine computes cleverly."""

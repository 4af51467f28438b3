"""Sinks: where the answers of a run go, whole batches only, each answer once."""

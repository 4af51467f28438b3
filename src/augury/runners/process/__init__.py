"""Processes around a run: Java, Spark sessions, Python workers, and why they fail."""

"""Runners: they move the data that operators work on; the local one in this process."""

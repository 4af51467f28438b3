"""Gaps: how long after one component another comes, and what that says of what was not read."""

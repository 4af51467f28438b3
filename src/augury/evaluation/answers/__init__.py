"""Answers as Arrow tables: the columns of matches, counts and windows, and their schemas."""

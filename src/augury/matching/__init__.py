"""The match stage: which events make a match, and how sure each match is."""

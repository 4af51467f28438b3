"""Rules that act, between rows and the stage: candidates from matches, and what came of them."""

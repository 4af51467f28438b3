"""Rules and active conjuncts: what they read and write, as functions, and whom they concern."""

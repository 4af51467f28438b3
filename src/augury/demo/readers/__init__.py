"""The scene of readers that miss reads: thefts of which a part was never heard."""

"""Sources: rows of tables become checked events; what is wrong with a row is said, not lost."""

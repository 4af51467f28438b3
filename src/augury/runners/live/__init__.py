"""The runner of pushed events: rows in, answers out as soon as they are known."""

"""The stages of the executor: each takes rows of its inputs and a horizon, and gives rows."""

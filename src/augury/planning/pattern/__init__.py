"""The automaton of a pattern: residuals, states, transitions, and the compiled form of it."""

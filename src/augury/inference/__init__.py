"""From raw readings to probable events: hidden Markov models, filtered, smoothed or decoded.

Readings come in, alternatives and transition tables go out, as ordinary Arrow tables in the form
that `ALTERNATIVES` and `MARKOV` streams have. Spark does not appear here, and neither does the
language: runners bring tables, and take tables.
"""

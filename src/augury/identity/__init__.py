"""Who did it, when the badge was not read: possible owners of events, and better ones later.

`ward.py` says what a row means, `owners.py` sums over the worlds, `telling.py` says what is told
and told again, `identifier.py` takes rows in by steps. Nothing here knows Spark or the language.
"""

"""Will this partial match complete, and when: an absorbing chain over automaton and symbols.

`machine` reads symbols, `model` learns which come next, `chain` puts both together, `arrivals`
turns events into time, `past` follows what has gone by, `forecasts` makes the rows.
"""

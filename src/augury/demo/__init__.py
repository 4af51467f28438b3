"""Scenes that show augury at work: a simulated world with known truth, queries, and a report.

A scene makes events whose truth it knows, lets a session answer queries over them, and holds the
answers against the truth. `augury demo` plays one and writes one page of HTML about it.
"""

"""Forecasts: partial matches followed from event to event, and what arrivals make of a table."""

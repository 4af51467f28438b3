"""Logins under attack: an alarm before the break-in."""

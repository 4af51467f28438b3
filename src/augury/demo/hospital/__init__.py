"""A ward: whose hands were clean, when some badges are not read."""

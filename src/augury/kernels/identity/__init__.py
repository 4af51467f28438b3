"""Who did it, compiled: the worlds of a ward, summed up by open acts, step after step."""

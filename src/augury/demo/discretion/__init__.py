"""The scene of discretion: what a ward publishes, and what cannot be put together of it."""

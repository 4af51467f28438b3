"""The second scene: people with tags in a building, and who went for coffee."""

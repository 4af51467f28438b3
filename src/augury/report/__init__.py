"""Pages about answers: of one's own script and rows, and of the scenes of the demo."""

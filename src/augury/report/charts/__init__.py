"""Charts as HTML and inline SVG that fit any width: positions are shares, texts keep their size."""

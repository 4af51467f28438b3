"""Text to syntax tree and back: lexer, grammar, tree, printer, and the papers' dialects."""

"""The command line: one module per command; heavy imports wait until a command needs them."""

"""What CREATE statements other than queries declare: streams, tables, models, gaps, targets."""

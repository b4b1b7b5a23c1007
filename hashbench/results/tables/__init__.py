"""Tables as data: one file a table."""

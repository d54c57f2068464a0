"""Planning requests: queries, writes and updates as values."""

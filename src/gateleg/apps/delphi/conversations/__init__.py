"""The input: votes and comments, read from files or generated with planted groups."""

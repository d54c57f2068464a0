"""What goes in: votes and comments, read from files or made up with planted groups."""

"""The console: the pages of the kit."""

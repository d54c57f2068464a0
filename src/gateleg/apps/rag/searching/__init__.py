"""Searching collections: by meaning, by words and by both, with citations."""

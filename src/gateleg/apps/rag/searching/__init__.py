"""Search collections by meaning, by words or by both, with citations."""

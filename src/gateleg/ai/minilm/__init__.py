"""all-MiniLM-L6-v2 in numpy. Nothing here is loaded before it is used."""

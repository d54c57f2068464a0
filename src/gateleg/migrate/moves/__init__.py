"""Moves: items of one entity become items of another, with another key or in another table, while they are read and written."""

"""Render clips and join them with the song: transitions, mastering, encoding, and the flash check."""

"""Renders clips and assembles them with the song: transitions, mastering, encoding, and the flash check."""

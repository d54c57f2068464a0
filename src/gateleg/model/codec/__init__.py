"""The codec: from entities to wire items and back."""

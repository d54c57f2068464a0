"""The queue's tables."""

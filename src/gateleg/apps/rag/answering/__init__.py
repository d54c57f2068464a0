"""Answers from collections, each sentence with the passages that support it."""

"""Describing and linting declared tables."""

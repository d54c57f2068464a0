"""Attributes: typed expressions, defaults, constraints, states and special types."""

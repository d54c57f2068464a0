"""Conditions, operands and update actions as values."""

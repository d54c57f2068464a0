"""Ending an attempt: outcome, completion, dependents."""

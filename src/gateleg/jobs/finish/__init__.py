"""Ending an attempt: its outcome, completing the job, releasing dependents."""

"""`JobContext`: what a handler is given beside its config."""

from __future__ import annotations


class JobContext:
    """What a handler is given beside its config."""

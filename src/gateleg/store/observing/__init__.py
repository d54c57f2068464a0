"""Watching requests: hooks, metrics, tracing, redaction."""

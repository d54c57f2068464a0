"""Observe requests: hooks, metrics, tracing, redaction."""

"""Stored runs: tables, conversion of results to rows and back, uploads, and the stages as they run under jobs."""

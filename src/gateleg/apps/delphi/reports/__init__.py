"""Findings as text, maps, the report and its files."""

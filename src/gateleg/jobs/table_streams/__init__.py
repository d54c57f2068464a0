"""Consuming the streams of tables: handlers of changes, with leases, checkpoints and kept failures."""

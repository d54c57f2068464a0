"""Purging: removing what hangs on an item before the item itself, and before TTL would remove the item alone."""

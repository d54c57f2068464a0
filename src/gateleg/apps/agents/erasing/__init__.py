"""Deleting what hangs together: a thread with all that happened in it, and everything of a tenant; and exporting it before."""

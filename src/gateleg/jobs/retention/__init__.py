"""Moving finished jobs to the archive."""

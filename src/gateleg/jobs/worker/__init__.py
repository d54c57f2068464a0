"""The worker: runs claimed jobs, several at once."""

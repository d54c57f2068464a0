"""What is kept, and the use cases on it: uploads, runs of each stage under their jobs, and the handlers of those jobs."""

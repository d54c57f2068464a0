"""The migrations of the sample application."""

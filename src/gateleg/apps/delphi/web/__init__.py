"""Parts of the API and of the console pages."""

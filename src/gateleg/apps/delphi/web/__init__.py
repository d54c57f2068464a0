"""What the API and the pages are made of."""

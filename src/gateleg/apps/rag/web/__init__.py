"""The HTTP surface of document collections beside `api`: what clients see, and the routes of each kind of thing."""

"""Show the source of a passage: the page of a PDF or a scan as an image, with the passages on it."""

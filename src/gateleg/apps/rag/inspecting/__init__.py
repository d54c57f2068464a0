"""Looking at where a passage stands: the page of a PDF or a scan as a picture, and the passages that lie on it."""

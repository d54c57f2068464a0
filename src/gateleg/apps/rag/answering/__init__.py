"""Answer questions from collections. Each sentence of an answer cites the passages that support it."""

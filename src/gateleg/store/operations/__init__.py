"""The store's verbs, each an operation as a value."""

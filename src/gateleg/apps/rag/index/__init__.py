"""The search index of a collection: vectors, keywords and metadata, rebuilt from the chunks table when it is lost."""

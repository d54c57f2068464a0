"""The search index of a collection: vectors, words and metadata. It is rebuilt from the chunks table if it is lost."""

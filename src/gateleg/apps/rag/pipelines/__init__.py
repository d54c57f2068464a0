"""Automated ingestion: what lies under a prefix of an object store, or in a folder, is kept in step with a collection."""

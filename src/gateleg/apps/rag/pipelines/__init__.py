"""Pipelines: keep a collection in step with a prefix of an object store or with a folder."""

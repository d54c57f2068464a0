"""The local embedding model, opened once for all tests that use real vectors."""

from functools import cache

from gateleg.ai import Embeddings, Models


@cache
def local_embeddings() -> Embeddings:
    return Models().embeddings()

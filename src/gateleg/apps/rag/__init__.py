"""Document collections: ingest documents, search them and ask them, with answers that cite page and passage.

A repository contains collections, a collection contains documents, and a document is split into chunks. One function decides access on
every path: `access.decide`.
"""

from gateleg.apps.rag.errors import RagError

__all__ = ["RagError"]

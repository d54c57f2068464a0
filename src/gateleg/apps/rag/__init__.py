"""Document collections: ingest documents, search them and ask them, with answers that cite page and passage.

Repositories hold collections, collections hold documents, documents are cut into chunks. Who may see what is decided by one function
(`access.py`), which every path uses.
"""

from gateleg.apps.rag.errors import RagError

__all__ = ["RagError"]

"""The addresses of pages. Ids may hold any character: the default collection is called like its embedding model."""

from urllib.parse import quote

HOME = "/rag"


def repository_place(repository_id: str) -> str:
    """The page of a repository."""
    return f"{HOME}/{quote(repository_id, safe='')}"


def collection_place(repository_id: str, collection_id: str) -> str:
    """The page of a collection."""
    return f"{repository_place(repository_id)}/collection/{quote(collection_id, safe='')}"


def document_place(repository_id: str, document_id: str) -> str:
    """The page of a document."""
    return f"{repository_place(repository_id)}/document/{quote(document_id, safe='')}"


def passage_place(repository_id: str, document_id: str, ordinal: int, span: tuple[int, int] | None = None) -> str:
    """The page of a document at a passage. `span` marks characters of the document's extracted text."""
    marked = "" if span is None else f"&span={span[0]}-{span[1]}"
    return f"{document_place(repository_id, document_id)}?chunk={ordinal}{marked}"

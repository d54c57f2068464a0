"""The paths of console pages. Ids may contain any character, because the id of a default collection is that of its embedding model."""

from urllib.parse import quote

HOME = "/rag"


def repository_path(repository_id: str) -> str:
    """The path of a repository's page."""
    return f"{HOME}/{quote(repository_id, safe='')}"


def collection_path(repository_id: str, collection_id: str) -> str:
    """The path of a collection's page."""
    return f"{repository_path(repository_id)}/collection/{quote(collection_id, safe='')}"


def document_path(repository_id: str, document_id: str) -> str:
    """The path of a document's page."""
    return f"{repository_path(repository_id)}/document/{quote(document_id, safe='')}"


def passage_path(repository_id: str, document_id: str, ordinal: int, span: tuple[int, int] | None = None) -> str:
    """The path of a passage on its document's page. `span` marks characters of the extracted text."""
    suffix = "" if span is None else f"&span={span[0]}-{span[1]}"
    return f"{document_path(repository_id, document_id)}?chunk={ordinal}{suffix}"

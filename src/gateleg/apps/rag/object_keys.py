"""The keys of objects. All that belongs to a document lies under its own prefix, so that it can be removed with it. Pure."""

from urllib.parse import quote

_ROOT = "rag"


def segment(text: str) -> str:
    """A text as one segment of a key: without a slash, and different for different texts."""
    return quote(text.replace("~", "\0"), safe="").replace("%00", "~7E").replace("%", "~")


def repository_prefix(repository_id: str) -> str:
    """Where the objects of a repository lie."""
    return f"{_ROOT}/repositories/{segment(repository_id)}/"


def collection_prefix(repository_id: str, collection_id: str) -> str:
    """Where the objects of a collection lie."""
    return f"{repository_prefix(repository_id)}{segment(collection_id)}/"


def document_prefix(repository_id: str, collection_id: str, document_id: str) -> str:
    """Where the objects of a document lie: its source, its text and whatever is made of it."""
    return f"{collection_prefix(repository_id, collection_id)}{segment(document_id)}/"


def source_key(repository_id: str, collection_id: str, document_id: str, name: str) -> str:
    """The document as it was sent, under its name (made plain by `gateleg.objects.plain_name`)."""
    return f"{document_prefix(repository_id, collection_id, document_id)}source/{name}"


def page_prefix(repository_id: str, collection_id: str, document_id: str, generation: int) -> str:
    """Where the pictures of the pages of a generation lie."""
    return f"{document_prefix(repository_id, collection_id, document_id)}pages/{generation:06d}/"


def page_key(repository_id: str, collection_id: str, document_id: str, generation: int, page: int) -> str:
    """The picture of a page."""
    return f"{page_prefix(repository_id, collection_id, document_id, generation)}{page:05d}.webp"

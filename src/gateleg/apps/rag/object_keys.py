"""The keys of objects. All objects of a document share a prefix, so that they can be removed together. Pure."""

from urllib.parse import quote

_ROOT = "rag"


def segment(text: str) -> str:
    """Encode a text as one segment of a key: without slashes, and different texts stay different."""
    return quote(text.replace("~", "\0"), safe="").replace("%00", "~7E").replace("%", "~")


def repository_prefix(repository_id: str) -> str:
    """The prefix of a repository's objects."""
    return f"{_ROOT}/repositories/{segment(repository_id)}/"


def collection_prefix(repository_id: str, collection_id: str) -> str:
    """The prefix of a collection's objects."""
    return f"{repository_prefix(repository_id)}{segment(collection_id)}/"


def document_prefix(repository_id: str, collection_id: str, document_id: str) -> str:
    """The prefix of a document's objects: its source, its text and everything derived from it."""
    return f"{collection_prefix(repository_id, collection_id)}{segment(document_id)}/"


def source_key(repository_id: str, collection_id: str, document_id: str, name: str) -> str:
    """The key of the original file; `name` has been sanitized by `gateleg.objects.plain_name`."""
    return f"{document_prefix(repository_id, collection_id, document_id)}source/{name}"


def page_prefix(repository_id: str, collection_id: str, document_id: str, generation: int) -> str:
    """The prefix of the page images of a generation."""
    return f"{document_prefix(repository_id, collection_id, document_id)}pages/{generation:06d}/"


def page_key(repository_id: str, collection_id: str, document_id: str, generation: int, page: int) -> str:
    """The key of a page image."""
    return f"{page_prefix(repository_id, collection_id, document_id, generation)}{page:05d}.webp"

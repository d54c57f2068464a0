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
    """The key of an uploaded file; `name` has been sanitized by `gateleg.objects.plain_name`."""
    return f"{document_prefix(repository_id, collection_id, document_id)}source/{name}"


def original_key(repository_id: str, collection_id: str, document_id: str, digest: str, name: str) -> str:
    """The key of an original: it contains the SHA-256 digest of the content, so that no other content can take its place."""
    return source_key(repository_id, collection_id, document_id, f"{digest}/{name}")


def digest_in_key(key: str) -> str | None:
    """The digest in the key of an original, or the first 16 digits of it, which earlier releases wrote; None for other keys."""
    folder, _, rest = key.rpartition("/source/")[2].partition("/")
    is_digest = bool(rest) and len(folder) in (16, 64) and set(folder) <= set("0123456789abcdef")
    return folder if is_digest else None


def page_prefix(repository_id: str, collection_id: str, document_id: str, generation: int) -> str:
    """The prefix of the page images of a generation."""
    return f"{document_prefix(repository_id, collection_id, document_id)}pages/{generation:06d}/"


def page_key(repository_id: str, collection_id: str, document_id: str, generation: int, page: int) -> str:
    """The key of a page image."""
    return f"{page_prefix(repository_id, collection_id, document_id, generation)}{page:05d}.webp"

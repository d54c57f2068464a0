"""The subject of a job: a repository or a collection. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

_BEGIN = "rag/"


@dataclass(frozen=True, slots=True)
class Subject:
    """A repository, or one of its collections."""

    repository_id: str
    collection_id: str | None = None

    def __str__(self) -> str:
        """The subject as stored in a job: `rag/{repository}` or `rag/{repository}/{collection}`."""
        parts = [self.repository_id] if self.collection_id is None else [self.repository_id, self.collection_id]
        return _BEGIN + "/".join(quote(part, safe="") for part in parts)


def parse_subject(text: str | None) -> Subject | None:
    """Parse the subject of a job; None if the job belongs to another application."""
    if text is None or not text.startswith(_BEGIN):
        return None
    parts = [unquote(part) for part in text.removeprefix(_BEGIN).split("/")]
    return Subject(*parts) if 1 <= len(parts) <= 2 and all(parts) else None

"""The origin of results, and the keys of their files."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

#: The job types of the stages.
VOTES_STAGE = "PCA"
TOPICS_STAGE = "UMAP"
REPORT_STAGE = "REPORT"
#: A key has at most 1,024 bytes, of which the job's id and the file's name need about a hundred.
_LONGEST_FOLDER = 800


@dataclass(frozen=True, slots=True)
class Origin:
    """The job and the conversation of results."""

    job_id: UUID
    conversation_id: str
    created_at: datetime
    parent_job_id: UUID | None = None
    root_job_id: UUID | None = None
    job_stage: str = VOTES_STAGE

    def fields(self) -> dict[str, Any]:
        """The attributes that every result has."""
        return {name: getattr(self, name) for name in self.__slots__}


def artifact_key(origin: Origin, name: str) -> str:
    """The key of a report's file."""
    return f"{artifact_folder(origin.conversation_id)}{origin.job_id}/{name}"


def artifact_folder(conversation_id: str) -> str:
    """The beginning of the keys of a conversation's files. If its quoted name is too long, it is truncated and a hash is appended."""
    folder = quote(conversation_id, safe="").replace(".", "%2E")
    if len(folder) > _LONGEST_FOLDER:
        folder = f"{folder[:_LONGEST_FOLDER]}-{sha256(folder.encode()).hexdigest()[:16]}"
    return f"visualizations/{folder}/"

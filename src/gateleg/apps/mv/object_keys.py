"""The keys of a project's objects: those of the public design for what is current, with numbers beside it for what came before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

#: Where pictures of characters are, whoever they belong to.
REFERENCES = "mv/outputs/character_reference/"


def project_prefix(project_id: UUID) -> str:
    """What the keys of all objects of a project begin with."""
    return f"mv/projects/{project_id}/"


def project_asset(project_id: UUID, name: str, extension: str) -> str:
    """The current `character`, `product`, `audio` or `lyrics` of a project, with the extension that its content has."""
    return f"{project_prefix(project_id)}{name}.{extension}"


def analysis_key(project_id: UUID) -> str:
    """What was heard in the track of a project."""
    return f"{project_prefix(project_id)}analysis.json"


def final_key(project_id: UUID) -> str:
    """The final film that plays."""
    return f"{project_prefix(project_id)}final.mp4"


def version_key(project_id: UUID, number: int, name: str = "final", extension: str = "mp4") -> str:
    """A final film by its number, or what was made from it: a variant, a poster, captions."""
    return f"{project_prefix(project_id)}versions/{name}_{number:04d}.{extension}"


def scene_key(project_id: UUID, sequence: int) -> str:
    """The clip of a scene that plays."""
    return f"{project_prefix(project_id)}scenes/scene_{sequence:03d}.mp4"


def scene_audio_key(project_id: UUID, sequence: int, extension: str = "mp3") -> str:
    """The part of the track that a scene plays to."""
    return f"{project_prefix(project_id)}scenes/audio_{sequence:03d}.{extension}"


def lip_sync_key(project_id: UUID, sequence: int) -> str:
    """The clip of a scene with its lips moved."""
    return f"{project_prefix(project_id)}scenes/scene_{sequence:03d}_lipsync.mp4"


def take_key(project_id: UUID, sequence: int, take: int) -> str:
    """A clip of a scene by the number of its take."""
    return f"{project_prefix(project_id)}scenes/takes/scene_{sequence:03d}_{take:04d}.mp4"


def still_key(project_id: UUID, sequence: int, take: int) -> str:
    """A picture of a clip by the number of its take."""
    return f"{project_prefix(project_id)}scenes/takes/scene_{sequence:03d}_{take:04d}.jpg"


def reference_key(reference_id: UUID, extension: str = "png") -> str:
    """A reference picture."""
    return f"{REFERENCES}{reference_id}.{extension}"

"""The object keys of projects. Current files have the keys of the public schema; earlier versions are numbered beside them."""

from __future__ import annotations

from uuid import UUID

#: The prefix of reference pictures of all owners.
REFERENCES = "mv/outputs/character_reference/"


def project_prefix(project_id: UUID) -> str:
    """The prefix of all objects of a project."""
    return f"mv/projects/{project_id}/"


def project_asset(project_id: UUID, name: str, extension: str) -> str:
    """The current `character`, `product`, `audio` or `lyrics` of a project. The extension follows the content type."""
    return f"{project_prefix(project_id)}{name}.{extension}"


def analysis_key(project_id: UUID) -> str:
    """The analysis of a project's track."""
    return f"{project_prefix(project_id)}analysis.json"


def final_key(project_id: UUID) -> str:
    """The current film."""
    return f"{project_prefix(project_id)}final.mp4"


def version_key(project_id: UUID, number: int, name: str = "final", extension: str = "mp4") -> str:
    """A version of the film by number, or one of its companion files: a variant, the poster, captions."""
    return f"{project_prefix(project_id)}versions/{name}_{number:04d}.{extension}"


def scene_key(project_id: UUID, sequence: int) -> str:
    """The current clip of a scene."""
    return f"{project_prefix(project_id)}scenes/scene_{sequence:03d}.mp4"


def scene_audio_key(project_id: UUID, sequence: int, extension: str = "mp3") -> str:
    """A scene's part of the track."""
    return f"{project_prefix(project_id)}scenes/audio_{sequence:03d}.{extension}"


def lip_sync_key(project_id: UUID, sequence: int) -> str:
    """The lip-synced clip of a scene."""
    return f"{project_prefix(project_id)}scenes/scene_{sequence:03d}_lipsync.mp4"


def take_key(project_id: UUID, sequence: int, take: int) -> str:
    """The clip of a take."""
    return f"{project_prefix(project_id)}scenes/takes/scene_{sequence:03d}_{take:04d}.mp4"


def scene_reference_key(project_id: UUID, sequence: int, name: str, extension: str) -> str:
    """A reference picture of a scene."""
    return f"{project_prefix(project_id)}scenes/references/scene_{sequence:03d}_{name}.{extension}"


def still_key(project_id: UUID, sequence: int, take: int) -> str:
    """The still image of a take."""
    return f"{project_prefix(project_id)}scenes/takes/scene_{sequence:03d}_{take:04d}.jpg"


def reference_id_of(key: str) -> UUID | None:
    """The id of the reference that a key belongs to; None for another key."""
    try:
        return UUID(key.removeprefix(REFERENCES).partition(".")[0]) if key.startswith(REFERENCES) else None
    except ValueError:
        return None


def reference_key(reference_id: UUID, extension: str = "png") -> str:
    """A reference picture."""
    return f"{REFERENCES}{reference_id}.{extension}"

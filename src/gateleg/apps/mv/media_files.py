"""Opening the sound and video files of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import av

if TYPE_CHECKING:
    from pathlib import Path


def open_media(path: Path) -> Any:
    """A file to decode. Its titles may be in any encoding, and are not what is wanted of it."""
    return av.open(str(path), metadata_errors="replace")

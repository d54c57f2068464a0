"""`DroppedFile`: a drop zone for files."""

from __future__ import annotations

from nicegui import ui


class DroppedFile(ui.upload, component="drop.js"):
    """An upload with our own look: a named button, progress for each file, and a way to stop it.

    It has the same arguments and events as `ui.upload`.
    """

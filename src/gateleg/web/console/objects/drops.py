"""`Drop`: a place to drop files on."""

from __future__ import annotations

from nicegui import ui


class Drop(ui.upload, component="drop.js"):
    """An upload with a face of our own: a button with a name, progress for each file, and a way to stop it.

    It takes what `ui.upload` takes, and tells the same things.
    """

"""Finds Chromium on this machine, which is needed to print pages."""

from __future__ import annotations

import os
import shutil

__all__ = ["find_chromium"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str | None:
    """The path of Chromium: `GATELEG_CHROMIUM`, or the first one installed. None if there is none."""
    return os.environ.get("GATELEG_CHROMIUM") or next((path for name in _NAMES if (path := shutil.which(name))), None)

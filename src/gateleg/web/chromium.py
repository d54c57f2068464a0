"""The Chromium of this machine, for what only a browser can do, such as printing a page."""

from __future__ import annotations

import os
import shutil

__all__ = ["find_chromium"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str | None:
    """The path of a Chromium: `GATELEG_CHROMIUM`, or the first that is installed; None where there is none."""
    return os.environ.get("GATELEG_CHROMIUM") or next((path for name in _NAMES if (path := shutil.which(name))), None)

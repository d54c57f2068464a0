"""PDF and PNG of pages and maps, through a Chromium that is installed; nothing else is needed, and without one nothing else is lost.

The pages hold everything they show, so the browser is kept from the network.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gateleg.apps.delphi.errors import BrowserMissing, PrintingFailed
from gateleg.apps.delphi.reports.config import REPORT, SUMMARY
from gateleg.web.chromium import find_chromium

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_ARGUMENTS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def find_browser() -> str:
    """The Chromium to print with."""
    found = find_chromium()
    if found is None:
        raise BrowserMissing("There is no Chromium on this machine.")
    return found


def print_pdf(page: bytes, timeout: float = 120.0) -> bytes:
    """A page as PDF, on paper of the usual size."""
    return _made(page, "page.html", "out.pdf", ("--no-pdf-header-footer", "--print-to-pdf={out}"), timeout)


def draw_png(picture: bytes, width: int = 1920, height: int = 1240, timeout: float = 120.0) -> bytes:
    """An SVG picture as PNG, on white."""
    page = b'<!doctype html><meta charset="utf-8"><style>body{margin:0}svg{width:100vw;height:100vh;display:block}</style>' + picture
    return _made(page, "page.html", "out.png", (f"--window-size={width},{height}", "--hide-scrollbars", "--screenshot={out}"), timeout)


def print_files(files: Mapping[str, bytes], formats: Collection[str]) -> dict[str, bytes]:
    """What Chromium makes of a report's files: its pages to read as PDF, its maps as PNG, as far as they are wanted."""
    found: dict[str, bytes] = {}
    if "pdf" in formats:
        found |= {f"{name.removesuffix('html')}pdf": print_pdf(files[name]) for name in files if _is_to_read(name)}
    if "png" in formats:
        found |= {f"{name.removesuffix('svg')}png": draw_png(files[name]) for name in files if name.endswith(".svg")}
    return found


def _is_to_read(name: str) -> bool:
    """Whether a file is the report or its summary, in whichever language."""
    return name.endswith(".html") and f"{name.partition('.')[0]}.html" in {REPORT, SUMMARY}


def _made(page: bytes, source: str, target: str, wanted: tuple[str, ...], timeout: float) -> bytes:
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="gateleg-print-") as name:
        folder = Path(name)
        (folder / source).write_bytes(page)
        # Chromium refuses its own sandbox to the superuser, which is who one is in many containers.
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        options = [option.replace("{out}", str(folder / target)) for option in wanted]
        command = [browser, *_ARGUMENTS, *root, f"--user-data-dir={folder / 'profile'}", *options, (folder / source).as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PrintingFailed(f"Chromium could not be run to its end: {error}.") from None
        if not (folder / target).is_file():
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise PrintingFailed(f"Chromium made no file and ended with status {done.returncode}: {last[0]}.")
        return (folder / target).read_bytes()

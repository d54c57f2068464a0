"""Prints pages to PDF and maps to PNG with an installed Chromium. Optional: everything else works without it.

Pages are self-contained, so the browser runs without network access.
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
    """The path of Chromium."""
    found = find_chromium()
    if found is None:
        raise BrowserMissing("Chromium is not installed on this machine.")
    return found


def print_pdf(page: bytes, timeout: float = 120.0) -> bytes:
    """Print a page to PDF, in the default paper size."""
    return _run(page, "page.html", "out.pdf", ("--no-pdf-header-footer", "--print-to-pdf={out}"), timeout)


def draw_png(picture: bytes, width: int = 1920, height: int = 1240, timeout: float = 120.0) -> bytes:
    """Render an SVG picture to PNG on a white background."""
    page = b'<!doctype html><meta charset="utf-8"><style>body{margin:0}svg{width:100vw;height:100vh;display:block}</style>' + picture
    return _run(page, "page.html", "out.png", (f"--window-size={width},{height}", "--hide-scrollbars", "--screenshot={out}"), timeout)


def print_files(files: Mapping[str, bytes], formats: Collection[str]) -> dict[str, bytes]:
    """Print the files of a report: with `pdf` the report and its summary, with `png` the maps."""
    found: dict[str, bytes] = {}
    if "pdf" in formats:
        found |= {f"{name.removesuffix('html')}pdf": print_pdf(files[name]) for name in files if _is_document(name)}
    if "png" in formats:
        found |= {f"{name.removesuffix('svg')}png": draw_png(files[name]) for name in files if name.endswith(".svg")}
    return found


def _is_document(name: str) -> bool:
    """Whether a file is the report or its summary, in any language."""
    return name.endswith(".html") and f"{name.partition('.')[0]}.html" in {REPORT, SUMMARY}


def _run(page: bytes, source: str, target: str, wanted: tuple[str, ...], timeout: float) -> bytes:
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="gateleg-print-") as name:
        folder = Path(name)
        (folder / source).write_bytes(page)
        # Chromium refuses to run its sandbox as root, the usual user in containers.
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        options = [option.replace("{out}", str(folder / target)) for option in wanted]
        command = [browser, *_ARGUMENTS, *root, f"--user-data-dir={folder / 'profile'}", *options, (folder / source).as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PrintingFailed(f"Chromium failed or timed out: {error}.") from None
        if not (folder / target).is_file():
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no output"]
            raise PrintingFailed(f"Chromium wrote no file and exited with status {done.returncode}: {last[0]}.")
        return (folder / target).read_bytes()

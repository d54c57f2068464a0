"""The page for trying queries: files of ours, which need nothing from other hosts."""

from pathlib import Path

_FOLDER = Path(__file__).parent
_FILES = frozenset({"page.html", "page.css", "page.js", "documents.js", "explorer.js"})
#: What the page may do: run our scripts, and talk to this host.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws: wss:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page_file(name: str) -> Path | None:
    """Where a file of the page lies; None when the page has no such file."""
    return _FOLDER / name if name in _FILES else None

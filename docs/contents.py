"""The lists of pages in `docs/README.md` and `docs/reference/README.md`: the contents of the manual and the navigation of the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
INDEXES = (DOCS / "README.md", DOCS / "reference" / "README.md")
#: The pages beside the README that the site has too.
ROOT_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(text: str) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", text)


def links(text: str) -> list[str]:
    """The targets of the links in a page."""
    return _LINK.findall(prose(text))


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it: so links with anchors work there and on the site."""
    return re.sub(r"[^\w\- ]", "", heading.lower().strip()).replace(" ", "-")


def navigation() -> list[Any]:
    """The navigation of the site: a tab for each section of the index, with the pages in the order of its links, each page once.

    The pages of the introduction, which no section lists, come first. Where a section links to another index, the sections of that index
    follow.
    """
    introduction, *sections = _divided(INDEXES[0].read_text(), "##")
    listed = {INDEXES[0]}
    tabs = [{title: _entries(INDEXES[0], text, "###", listed)} for title, text in sections]
    start = ["README.md", *_entries(INDEXES[0], introduction[1], "###", listed)]
    return [{"Start": start}, *tabs]


def _divided(text: str, marks: str) -> list[tuple[str, str]]:
    """The text before the first heading of a level, and each section with its title."""
    first, *rest = re.split(rf"^{marks} (.+)$", prose(text), flags=re.MULTILINE)
    return [("", first), *zip(rest[::2], rest[1::2], strict=True)]


def _entries(index: Path, text: str, marks: str, listed: set[Path]) -> list[Any]:
    """The pages and subsections of a section, without those that are listed already."""
    introduction, *sections = _divided(text, marks)
    entries: list[Any] = []
    for link in links(introduction[1]):
        page = (index.parent / link.partition("#")[0]).resolve()
        if "://" in link or page in listed:
            continue
        listed.add(page)
        entries.append(page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name)
        if page in INDEXES:
            entries += _entries(page, page.read_text(), "##", listed)
    return [*entries, *({title: below} for title, section in sections if (below := _entries(index, section, f"{marks}#", listed)))]

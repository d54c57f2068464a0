"""Links between pages lead to files and headings that exist, and the indexes lead to every page."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.modules import DOCS, ROOT, docs_module

contents = docs_module("contents")
generate = docs_module("generate")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@cache
def _text(page: Path) -> str:
    """A page as the site has it, with its generated parts."""
    return str(generate.fill(page.read_text(), generate.FRAGMENTS))


def _anchors(page: Path) -> set[str]:
    return {contents.anchor(heading) for heading in _HEADING.findall(contents.prose(_text(page)))}


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in contents.links(_text(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert not broken


def test_the_indexes_link_to_every_page() -> None:
    linked = {
        (index.parent / link.partition("#")[0]).resolve()
        for index in contents.INDEXES
        for link in contents.links(index.read_text())
        if "://" not in link
    }
    pages = set(DOCS.rglob("*.md")) - {contents.INDEXES[0]}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - linked) == []


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in sorted(DOCS.rglob("*.md"))])
def test_links_leave_the_manual_only_for_pages_that_the_site_copies(page: Path) -> None:
    targets = [(page.parent / link.partition("#")[0]).resolve() for link in contents.links(page.read_text()) if "://" not in link]
    outside = {target for target in targets if not target.is_relative_to(DOCS)}
    assert outside <= {ROOT / name for name in contents.ROOT_PAGES}

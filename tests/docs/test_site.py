"""The documentation site: its navigation has every page once, and it loads nothing from another host."""

from pathlib import Path
from typing import Any

import pytest

from tests.docs.modules import DOCS, docs_module

contents = docs_module("contents")
site_hooks = docs_module("site_hooks")


def pages(entries: list[Any]) -> list[str]:
    """The pages below entries of the navigation."""
    return [page for entry in entries for page in ([entry] if isinstance(entry, str) else pages(next(iter(entry.values()))))]


def test_the_navigation_has_every_page_once() -> None:
    written = [*(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")), *contents.ROOT_PAGES]
    assert sorted(pages(contents.navigation())) == sorted(written)


def test_the_first_tab_has_what_a_newcomer_reads() -> None:
    assert contents.navigation()[0] == {"Start": ["README.md", "quickstart.md", "tutorial.md", "glossary.md"]}


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://unpkg.com/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.com/a.css">',
        '<p><img alt="" src="http://example.com/a.png"></p>',
    ],
)
def test_what_a_page_would_load_from_another_host_is_refused(tmp_path: Path, html: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(html)
    assert len([*site_hooks.foreign_assets(page)]) == 1


def test_a_style_sheet_that_would_load_a_font_is_refused(tmp_path: Path) -> None:
    sheet = tmp_path / "site.css"
    sheet.write_text("@font-face { src: url('https://fonts.example.com/a.woff2'); }")
    assert [*site_hooks.foreign_assets(sheet)] == ["https://fonts.example.com/a.woff2"]


def test_links_to_other_hosts_and_files_of_the_site_are_fine(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<link rel="canonical" href="https://example.com/"><a href="https://example.com">out</a><img src="../images/a.png">')
    assert [*site_hooks.foreign_assets(page)] == []

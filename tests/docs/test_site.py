"""The documentation site: its navigation has every page once, it loads nothing from other hosts, and pages look as in the repository."""

import re
from pathlib import Path
from typing import Any

import pytest
from markdown import markdown
from markdown_it import MarkdownIt

from tests.docs.modules import DOCS, docs_module

contents = docs_module("contents")
site_hooks = docs_module("site_hooks")
#: Those of mkdocs.yml that decide what is a block.
EXTENSIONS = ["attr_list", "md_in_html", "tables", "pymdownx.superfences"]


def pages(entries: list[Any]) -> list[str]:
    """The pages below entries of the navigation."""
    return [page for entry in entries for page in ([entry] if isinstance(entry, str) else pages(next(iter(entry.values()))))]


def test_the_navigation_has_every_page_once() -> None:
    written = [*(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")), *contents.ROOT_PAGES]
    assert sorted(pages(contents.navigation())) == sorted(written)


def blocks(html: str) -> dict[str, int]:
    """How many lists, items, tables and code blocks a page has."""
    return {tag: len(re.findall(rf"<{tag}[ >]", html)) for tag in ("ul", "ol", "li", "table", "pre", "h2", "h3")}


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(DOCS).as_posix()) for page in sorted(DOCS.rglob("*.md"))])
def test_a_page_has_the_same_blocks_in_the_repository_and_on_the_site(page: Path) -> None:
    # The repository's pages are CommonMark; the site's need an empty line before a list, and four spaces for code in one.
    text = page.read_text()
    assert blocks(markdown(text, extensions=EXTENSIONS)) == blocks(MarkdownIt("commonmark").enable("table").render(text))


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

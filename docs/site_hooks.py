"""What MkDocs does not do by itself for the documentation site: `mkdocs.yml` names this file.

- The navigation is read from the lists of pages in `docs/README.md` and `docs/reference/README.md`, so that no page is listed twice.
- `ARCHITECTURE.md` and the other pages beside the README become pages of the site.
- The generated parts of reference pages are filled in (`docs/generate.py`).
- The build fails if a page would load anything from another host.
"""

from __future__ import annotations

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import gateleg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

import generate
from contents import ROOT_PAGES, anchor, navigation

ROOT = Path(__file__).parents[1]
_ROOT_LINK = re.compile(rf"\]\(((?:\.\./)*)\.\./({'|'.join(map(re.escape, ROOT_PAGES))})")
_DOCS_LINK = re.compile(r"\]\(docs/")
#: What a page loads by itself; a link that somebody must click is none of these.
_LOADING = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("object", "data"), ("link", "href")}
_CSS_URL = re.compile(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set what the lists of pages and the version of the package decide."""
    config.nav = navigation()
    config.mdx_configs["toc"]["slugify"] = lambda heading, separator: anchor(heading)
    config.copyright = f"Gateleg {gateleg.__version__}"
    # mike builds one version among several, and sets this variable: only then is there a list of versions to choose from.
    if "MIKE_DOCS_VERSION" in os.environ:
        config.extra["version"] = {"provider": "mike"}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages beside the README."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=_DOCS_LINK.sub("](", (ROOT / name).read_text())))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in what is generated, let links to the pages beside the README lead to their copies, and rank and name the page."""
    page.meta.setdefault("search", {"boost": _boost(page.file.src_uri)})
    if page.file.src_uri.startswith("reference/python/"):
        # In the navigation, every name would begin with the same word.
        page.meta.setdefault("title", markdown.partition("\n")[0].removeprefix("# ").replace("`", "").removeprefix("gateleg."))
    return _ROOT_LINK.sub(r"](\1\2", generate.fill(markdown, generate.FRAGMENTS))


def _boost(name: str) -> float:
    """How much a page counts in searches: guides come before reference, and both before pages for contributors."""
    return 0.3 if name in ROOT_PAGES else 1.0 if name.startswith("reference/") else 2.0


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that loads anything from another host."""
    site = Path(config.site_dir)
    foreign = [f"{page.relative_to(site)}: {url}" for page in sorted(site.rglob("*")) for url in foreign_assets(page)]
    if foreign:
        raise PluginError("These pages load something from another host, which the site must not:\n" + "\n".join(foreign))


def foreign_assets(path: Path) -> Iterator[str]:
    """The addresses on other hosts from which a page or a style sheet loads something by itself."""
    if path.suffix == ".css":
        yield from _CSS_URL.findall(path.read_text())
    elif path.suffix == ".html":
        reader = _Assets()
        reader.feed(path.read_text())
        yield from (url for url in reader.found if re.match(r"(?:https?:)?//", url))


class _Assets(HTMLParser):
    """Collects the addresses of what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect from one element."""
        values: dict[str, Any] = dict(attrs)
        if tag == "link" and values.get("rel") in ("canonical", "next", "prev", "alternate"):
            return
        self.found += [value for name, value in attrs if (tag, name) in _LOADING and value]

"""Parse HTML: headings, paragraphs, lists and tables of the content, without navigation, scripts and styles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.parsing.document import clean
from gateleg.apps.rag.parsing.plain import decode_text
from gateleg.apps.rag.parsing.tabular import write_rows

if TYPE_CHECKING:
    from gateleg.apps.rag.parsing.document import DocumentBuilder

_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_DROPPED = ["script", "style", "noscript", "template", "svg", "iframe", "form", "nav", "footer", "aside", "button", "select", "dialog"]
_BLOCKS = frozenset(
    re.split(
        r"\s+",
        "p div section article main ul ol dl dd dt blockquote figure figcaption address header body details summary fieldset center",
    )
)
_NOT_SHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
#: Minimum characters of a page or of an article for extracting the article.
_ENOUGH = 400


def read_html(content: bytes, builder: DocumentBuilder) -> None:
    """Parse the content of a page."""
    from selectolax.lexbor import LexborHTMLParser

    html = _decoded(content)
    tree: Any = LexborHTMLParser(html)
    title = tree.css_first("title")
    builder.title = None if title is None else " ".join(clean(title.text()).split()) or None
    language = tree.root.attributes.get("lang") if tree.root is not None else None
    builder.language = language[:2].lower() if language and language[:2].isalpha() else None
    html = _without_hidden(tree) or html
    tree.strip_tags(_DROPPED)
    main = next((node for name in ("main", "article", "[role=main]") if len(nodes := tree.css(name)) == 1 for node in nodes), None)
    if main is None and tree.body is not None and len(tree.body.text()) > _ENOUGH:
        article = _article(html)
        main = None if article is None else LexborHTMLParser(article).body
    node = main or tree.body or tree.root
    if node is not None:
        _Walker(builder).walk(node)


def _without_hidden(tree: Any) -> str | None:
    """Remove hidden elements, such as text for search engines or models. Return the rest as HTML; None if nothing was hidden."""
    hidden = [
        node for node in tree.css("[hidden], [style]") if "hidden" in node.attributes or _NOT_SHOWN.search(node.attributes["style"] or "")
    ]
    for node in hidden:
        if node.tag not in ("html", "body"):
            node.decompose()
    found: str | None = tree.html if hidden else None
    return found


def _decoded(content: bytes) -> str:
    named = _CHARSET.search(content[:2048])
    if named is not None and not content.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        try:
            return content.decode(named[1].decode("ascii"), "replace")
        except LookupError:
            pass
    return decode_text(content)[0]


def _article(html: str) -> str | None:
    """Extract the article of a page without a main element, as HTML; None if it is too short."""
    import trafilatura

    found: str | None = trafilatura.extract(html, output_format="html", include_tables=True, include_comments=False, favor_recall=True)
    return found if found is not None and len(found) > _ENOUGH else None


class _Walker:
    """Walks the element tree without recursion, because pages may be nested arbitrarily deep."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self.builder = builder
        self._inline: list[str] = []

    def walk(self, root: Any) -> None:
        stack: list[tuple[Any, bool]] = [(root, False)]
        while stack:
            node, left = stack.pop()
            tag = node.tag
            if left:
                self._flush()
            elif tag == "-text":
                self._inline.append(node.text_content or "")
            elif re.fullmatch(r"h[1-6]", tag or ""):
                self._flush()
                self.builder.heading(int(tag[1]), node.text())
            elif tag == "pre":
                self._flush()
                self.builder.add(clean(node.text()).strip("\n") + "\n\n")
            elif tag == "table":
                self._flush()
                write_rows(([cell.text() for cell in row.css("td, th")] for row in node.css("tr")), self.builder)
                self.builder.add("\n")
            elif tag == "br":
                self._inline.append(" ")
            elif tag != "_comment":
                if tag in _BLOCKS or tag == "li":
                    self._flush()
                    stack.append((node, True))
                if tag == "li":
                    self._inline.append("- ")
                stack.extend((child, False) for child in reversed(list(node.iter(include_text=True))))
        self._flush()

    def _flush(self) -> None:
        text = " ".join("".join(self._inline).split())
        self._inline.clear()
        if text.startswith("- "):
            self.builder.row(text)
        elif text != "-":
            self.builder.paragraph(text)

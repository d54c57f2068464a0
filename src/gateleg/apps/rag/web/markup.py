"""HTML for marked spans of a text, and an SVG overlay for page images. Pure. All text is escaped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.inspecting.page_chunks import Box
    from gateleg.apps.rag.inspecting.page_rendering import PageSize

#: A span in an address. No document has more than nine digits of characters.
_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Outline:
    """The outline of a passage on a page: its boxes, its link, and whether it is the selected passage."""

    label: str
    href: str
    boxes: Sequence[Box]
    pointed: bool = False


def mark_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Convert a text to HTML with marked spans."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if start < at:
            continue
        parts += [escape(text[at:start]), f"<mark>{escape(text[start:end])}</mark>"]
        at = end
    return "".join([*parts, escape(text[at:])])


def parse_span(text: str) -> tuple[int, int] | None:
    """Parse a span, `start-end`, from an address; None if it is invalid."""
    found = _SPAN.fullmatch(text)
    if found is None or int(found[1]) >= int(found[2]):
        return None
    return int(found[1]), int(found[2])


def clip_span(span: tuple[int, int] | None, start: int, end: int) -> list[tuple[int, int]]:
    """The part of a span within [start, end), relative to `start`."""
    if span is None or span[1] <= start or span[0] >= end:
        return []
    return [(max(span[0], start) - start, min(span[1], end) - start)]


def overlay_svg(size: PageSize, outlines: Sequence[Outline], span: Sequence[Box] = ()) -> str:
    """An SVG overlay for a page image, with outlined passages and the boxes of `span` marked."""
    links = "".join(
        f'<a href="{escape(one.href)}" aria-label="{escape(one.label)}" class="{"pointed" if one.pointed else ""}">'
        f"<title>{escape(one.label)}</title>{''.join(_rect(box) for box in one.boxes)}</a>"
        for one in outlines
        if one.boxes
    )
    spanned = "".join(_rect(box, "span") for box in span)
    return f'<svg viewBox="0 0 {size.width:g} {size.height:g}" preserveAspectRatio="none" class="rag-overlay">{spanned}{links}</svg>'


def _rect(box: Box, look: str = "") -> str:
    left, top, right, bottom = box
    return f'<rect class="{look}" x="{left:g}" y="{top:g}" width="{max(0.0, right - left):g}" height="{max(0.0, bottom - top):g}"/>'

"""Parts of a text that are marked, and boxes on the picture of a page. Pure: everything is escaped, numbers are written as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.inspecting.drawing import PageSize
    from gateleg.apps.rag.inspecting.page_chunks import Box

#: Digits of a number in an address: no document has more characters.
_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Outline:
    """A passage on a page: its boxes, where its link leads, and whether it is the one that is looked at."""

    label: str
    href: str
    boxes: Sequence[Box]
    pointed: bool = False


def marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """A text as HTML, with spans of it marked."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if start < at:
            continue
        parts += [escape(text[at:start]), f"<mark>{escape(text[start:end])}</mark>"]
        at = end
    return "".join([*parts, escape(text[at:])])


def parse_span(text: str) -> tuple[int, int] | None:
    """The span that an address names, `start-end`; None for anything else."""
    found = _SPAN.fullmatch(text)
    if found is None or int(found[1]) >= int(found[2]):
        return None
    return int(found[1]), int(found[2])


def within(span: tuple[int, int] | None, start: int, end: int) -> list[tuple[int, int]]:
    """The part of a span that lies in [start, end), counted from `start`."""
    if span is None or span[1] <= start or span[0] >= end:
        return []
    return [(max(span[0], start) - start, min(span[1], end) - start)]


def overlay(size: PageSize, outlines: Sequence[Outline], span: Sequence[Box] = ()) -> str:
    """The passages of a page as SVG, to lie over its picture; the boxes of `span` are marked."""
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

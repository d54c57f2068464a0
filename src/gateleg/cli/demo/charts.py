"""Bar charts as SVG, and a page that shows them. Pure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _ROW, _LABEL = 760, 28, 290
#: The Okabe-Ito palette, which is safe for colour-blind people.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def bar_chart(title: str, bars: Sequence[tuple[str, float]], unit: str, *, colour: int = 0) -> str:
    """Horizontal bars, each with its name and value."""
    most = max((value for _, value in bars), default=1) or 1
    height = 64 + _ROW * len(bars)
    rows = []
    for place, (name, value) in enumerate(bars):
        top = 56 + place * _ROW
        width = (_WIDTH - _LABEL - 90) * value / most
        rows.append(
            f'<text x="{_LABEL - 12}" y="{top + 15}" text-anchor="end">{escape(_short(name))}</text>'
            f'<rect x="{_LABEL}" y="{top}" width="{width:.1f}" height="20" rx="3" fill="{_COLOURS[colour % len(_COLOURS)]}"/>'
            f'<text x="{_LABEL + width + 8:.1f}" y="{top + 15}" fill="#5b6470">{value:,.4g} {escape(unit)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#1b1f24"><title>{escape(title)}</title>'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
        f'<text x="16" y="32" font-size="18" font-weight="600">{escape(title)}</text>{"".join(rows)}</svg>\n'
    )


def report_page(title: str, charts: Sequence[str], notes: Sequence[str]) -> str:
    """Charts on one page."""
    list_items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:32px auto;padding:0 16px;color:#1b1f24;background:#fff}"
        "svg{max-width:100%;height:auto;border:1px solid #d9dde2;border-radius:8px;margin:8px 0}</style>"
        f"<h1>{escape(title)}</h1><ul>{list_items}</ul>{''.join(charts)}</html>\n"
    )


def _short(name: str) -> str:
    return name if len(name) <= 36 else f"{name[:35]}…"

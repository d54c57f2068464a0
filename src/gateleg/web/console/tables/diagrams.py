"""A table drawn: its entities on the left, its key in the middle, its indexes on the right. SVG whose colours are the page's own."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from gateleg.ops.explaining import key_forms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model import Index, Spec, Table

_HEAD, _ROW, _PAD, _GAP = 34, 22, 8, 16
_LEFT, _MIDDLE, _RIGHT = (0, 330), (420, 270), (780, 340)
_WIDTH = _RIGHT[0] + _RIGHT[1]
#: a character of the monospaced font that keys are written in
_CHARACTER = 7.1
_TYPES = {"S": "text", "N": "number", "B": "binary"}


@dataclass(frozen=True)
class Box:
    """A box with a heading and rows of a name and what it holds."""

    title: str
    rows: tuple[tuple[str, str], ...]
    #: a word beside the heading
    chip: str = ""
    look: str = "entity"
    #: which entities are in it, by number; all boxes on the left belong to their table
    holds: tuple[int, ...] = ()

    @property
    def height(self) -> int:
        """Of the whole box."""
        return _HEAD + _ROW * len(self.rows) + _PAD


def boxes_of(table: Table) -> tuple[list[Box], Box, list[Box]]:
    """What is drawn: the entities, the table and the indexes."""
    entities = [Box(spec.name, tuple(key_forms(spec.key).items())) for spec in table.specs]
    types = table.key_types()
    roles = dict(zip(table.attributes, ("partition", "sort"), strict=False))
    middle = Box(table.name, tuple((name, f"{role}, {_TYPES[types[name]]}") for name, role in roles.items()), "table", "table")
    return entities, middle, [_index_box(table, index) for index in table.indexes]


def _index_box(table: Table, index: Index) -> Box:
    inside = [(number, spec) for number, spec in enumerate(table.specs) if index.name in spec.indexes]
    sparse = any(_sparse(spec, index.name) for _, spec in inside)
    rows = [(name, _form(inside, index, name)) for name in index.attributes]
    if index.project != "all":
        rows.append(("holds", "keys only" if index.project == "keys" else f"keys, {', '.join(index.project)}"))
    if len(table.specs) > 1:
        rows.append(("of", ", ".join(spec.name for _, spec in inside) or "nothing"))
    kind = "local" if index.local else "global"
    return Box(index.name, tuple(rows), f"{kind}, sparse" if sparse else kind, "index", tuple(number for number, _ in inside))


def _form(inside: Sequence[tuple[int, Spec[Any]]], index: Index, attribute: str) -> str:
    forms = dict.fromkeys(key_forms(spec.indexes[index.name])[attribute] for _, spec in inside)
    return " or ".join(form for form in forms if form != f"{{{attribute}}}") or ("partition" if attribute in index.hash else "sort")


def _sparse(spec: Spec[Any], index: str) -> bool:
    plan = spec.indexes[index]
    return bool(plan.when) or any(spec.attributes[spec.sources[name].attribute].optional for name in plan.names)


def table_svg(table: Table) -> str:
    """The drawing, with a description for those who cannot see it."""
    entities, middle, indexes = boxes_of(table)
    tall = max(_stack(entities), middle.height, _stack(indexes))
    parts: list[str] = []
    centre = (tall - middle.height) / 2
    left = _places(entities, tall)
    right = _places(indexes, tall)
    for top, box in zip(left, entities, strict=True):
        parts.append(_edge(_LEFT[0] + _LEFT[1], top + box.height / 2, _MIDDLE[0], centre + middle.height / 2, ""))
    for top, box in zip(right, indexes, strict=True):
        look = "sparse" if "sparse" in box.chip else ""
        parts.append(_edge(_MIDDLE[0] + _MIDDLE[1], centre + middle.height / 2, _RIGHT[0], top + box.height / 2, look))
    parts += [_drawn(box, _LEFT, top) for top, box in zip(left, entities, strict=True)]
    parts.append(_drawn(middle, _MIDDLE, centre))
    parts += [_drawn(box, _RIGHT, top) for top, box in zip(right, indexes, strict=True)]
    start = _LEFT[0] if entities else _MIDDLE[0]
    width = (_WIDTH if indexes else _MIDDLE[0] + _MIDDLE[1]) - start
    view = f'viewBox="{start - 1} -1 {width + 2} {tall + 2:.0f}" width="{width + 2}" height="{tall + 2:.0f}"'
    return (
        f'<svg class="gl-diagram" role="img" aria-label="{escape(described(table))}" {view} '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def described(table: Table) -> str:
    """The drawing in a sentence."""
    key = " and ".join(table.attributes)
    entities = ", ".join(spec.name for spec in table.specs) or "no declared entity"
    indexes = ", ".join(f"{index.name} on {' and '.join(index.attributes)}" for index in table.indexes) or "none"
    return f"{table.name}: key {key}; holds {entities}; indexes: {indexes}."


def _stack(boxes: Sequence[Box]) -> int:
    return sum(box.height for box in boxes) + _GAP * max(0, len(boxes) - 1)


def _places(boxes: Sequence[Box], tall: float) -> list[float]:
    """Where each box of a column begins, the column being centred."""
    top = (tall - _stack(boxes)) / 2
    places = []
    for box in boxes:
        places.append(top)
        top += box.height + _GAP
    return places


def _edge(x: float, y: float, to_x: float, to_y: float, look: str) -> str:
    bend = (x + to_x) / 2
    return f'<path class="edge {look}" d="M{x} {y:.1f} C{bend} {y:.1f} {bend} {to_y:.1f} {to_x} {to_y:.1f}"/>'


def _drawn(box: Box, column: tuple[int, int], top: float) -> str:
    x, width = column
    lines = [
        f'<rect x="{x}" y="{top:.1f}" width="{width}" height="{box.height}" rx="8"/>',
        f'<text class="title" x="{x + 12}" y="{top + 22:.1f}">{escape(_cut(box.title, (width - 24 - 8 * len(box.chip)) / 7.6))}</text>',
    ]
    if box.chip:
        lines.append(f'<text class="chip" x="{x + width - 12}" y="{top + 22:.1f}" text-anchor="end">{escape(box.chip)}</text>')
    for number, (name, form) in enumerate(box.rows):
        y = top + _HEAD + _ROW * number + 14
        room = (width - 36) / _CHARACTER - len(name)
        lines.append(f'<text class="name" x="{x + 12}" y="{y:.1f}">{escape(name)}</text>')
        lines.append(f'<text class="form" x="{x + width - 12}" y="{y:.1f}" text-anchor="end">{escape(_cut(form, room))}</text>')
    return f'<g class="box {box.look}"><title>{escape(_told(box))}</title>{"".join(lines)}</g>'


def _told(box: Box) -> str:
    return "\n".join([box.title, *(f"{name}: {form}" for name, form in box.rows)])


def _cut(text: str, room: float) -> str:
    most = max(3, int(room))
    return text if len(text) <= most else text[: most - 1] + "…"

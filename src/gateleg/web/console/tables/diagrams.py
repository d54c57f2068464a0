"""Diagram of a table: its key, its entities and its indexes. SVG in the colours of the page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from gateleg.ops.explanations import key_forms
from gateleg.web.console.markup import truncate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model import Index, Spec, Table

_HEAD, _ROW, _PAD, _GAP = 34, 22, 8, 16
_LEFT, _MIDDLE, _RIGHT = (0, 330), (420, 270), (780, 340)
#: width of a character in the fonts of keys and titles
_CHARACTER, _TITLE = 7.3, 7.6
_TYPES = {"S": "text", "N": "number", "B": "binary"}
#: below this width, a diagram scrolls instead of shrinking
_LEAST = 720
#: with more indexes than this and one entity, indexes are placed on both sides
_ONE_SIDE = 3


@dataclass(frozen=True)
class Box:
    """A box with a heading, rows of key attributes with their templates, and notes below."""

    title: str
    rows: tuple[tuple[str, str], ...]
    #: a label beside the heading
    chip: str = ""
    look: str = "entity"
    notes: tuple[str, ...] = ()

    @property
    def height(self) -> int:
        """The height of the box."""
        return _HEAD + _ROW * (len(self.rows) + len(self.notes)) + _PAD


@dataclass(frozen=True)
class TableDiagram:
    """The placement of boxes. Entities are on the left; indexes on the right, or on both sides."""

    middle: Box
    left: tuple[Box, ...] = ()
    right: tuple[Box, ...] = ()


def drawing_of(table: Table) -> TableDiagram:
    """The placement for a table. A single entity needs no box: the table's own shows its key templates."""
    types = table.key_types()
    forms = key_forms(table.specs[0].key) if len(table.specs) == 1 else {}
    rows = tuple((name, _made(forms.get(name), name) or f"{role}, {_TYPES[types[name]]}") for name, role in _roles(table))
    chip = f"of {table.specs[0].name}" if len(table.specs) == 1 else "table"
    middle = Box(table.name, rows, chip, "table")
    indexes = tuple(_index_box(table, index) for index in table.indexes)
    if len(table.specs) > 1:
        return TableDiagram(middle, tuple(Box(spec.name, tuple(key_forms(spec.key).items())) for spec in table.specs), indexes)
    if len(indexes) <= _ONE_SIDE:
        return TableDiagram(middle, (), indexes)
    half = (len(indexes) + 1) // 2
    return TableDiagram(middle, indexes[:half], indexes[half:])


def _roles(table: Table) -> list[tuple[str, str]]:
    return list(zip(table.attributes, ("partition", "sort"), strict=False))


def _made(form: str | None, attribute: str) -> str:
    """The template of a key attribute, unless it is just the attribute of that name."""
    return "" if form is None or form == f"{{{attribute}}}" else form


def _index_box(table: Table, index: Index) -> Box:
    inside = [spec for spec in table.specs if index.name in spec.indexes]
    rows = tuple((name, _form(inside, index, name)) for name in index.attributes)
    notes = []
    if index.project != "all":
        notes.append("projects keys only" if index.project == "keys" else f"projects keys and {', '.join(index.project)}")
    if len(table.specs) > 1:
        notes.append(f"of {', '.join(spec.name for spec in inside) or 'nothing'}")
    kind = "local" if index.local else "global"
    chip = f"{kind}, sparse" if any(_sparse(spec, index.name) for spec in inside) else kind
    return Box(index.name, rows, chip, "index", tuple(notes))


def _form(inside: Sequence[Spec[Any]], index: Index, attribute: str) -> str:
    forms = dict.fromkeys(_made(key_forms(spec.indexes[index.name])[attribute], attribute) for spec in inside)
    return " or ".join(filter(None, forms)) or ("partition" if attribute in index.hash else "sort")


def _sparse(spec: Spec[Any], index: str) -> bool:
    plan = spec.indexes[index]
    return bool(plan.when) or any(spec.attributes[spec.sources[name].attribute].optional for name in plan.names)


def table_svg(table: Table) -> str:
    """The diagram, with an accessible description."""
    drawing = drawing_of(table)
    tall = max(_stack(drawing.left), drawing.middle.height, _stack(drawing.right))
    centre = (tall - drawing.middle.height) / 2
    heart = centre + drawing.middle.height / 2
    left, right = _places(drawing.left, tall), _places(drawing.right, tall)
    edges = [_edge((_LEFT[0] + _LEFT[1], top + box.height / 2), (_MIDDLE[0], heart), box) for top, box in left]
    edges += [_edge((_MIDDLE[0] + _MIDDLE[1], heart), (_RIGHT[0], top + box.height / 2), box) for top, box in right]
    boxes = [_drawn(box, _LEFT, top) for top, box in left]
    boxes += [_drawn(drawing.middle, _MIDDLE, centre), *(_drawn(box, _RIGHT, top) for top, box in right)]
    start = _LEFT[0] if left else _MIDDLE[0]
    width = (_RIGHT[0] + _RIGHT[1] if right else _MIDDLE[0] + _MIDDLE[1]) - start
    view = f'viewBox="{start - 1} -1 {width + 2} {tall + 2:.0f}" width="{width + 2}" height="{tall + 2:.0f}"'
    return (
        f'<svg class="gl-diagram" role="img" aria-label="{escape(described(table))}" {view} style="min-width:{min(_LEAST, width)}px" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join([*edges, *boxes])}</svg>'
    )


def described(table: Table) -> str:
    """The diagram in a sentence."""
    key = " and ".join(table.attributes)
    entities = ", ".join(spec.name for spec in table.specs) or "no declared entities"
    indexes = ", ".join(f"{index.name} on {' and '.join(index.attributes)}" for index in table.indexes) or "none"
    return f"{table.name}: key {key}; holds {entities}; indexes: {indexes}."


def _stack(boxes: Sequence[Box]) -> int:
    return sum(box.height for box in boxes) + _GAP * max(0, len(boxes) - 1)


def _places(boxes: Sequence[Box], tall: float) -> list[tuple[float, Box]]:
    """The top of each box of a vertically centred column."""
    top = (tall - _stack(boxes)) / 2
    places = []
    for box in boxes:
        places.append((top, box))
        top += box.height + _GAP
    return places


def _edge(start: tuple[float, float], end: tuple[float, float], box: Box) -> str:
    (x, y), (to_x, to_y) = start, end
    bend = (x + to_x) / 2
    look = "edge sparse" if "sparse" in box.chip else "edge"
    return f'<path class="{look}" d="M{x} {y:.1f} C{bend} {y:.1f} {bend} {to_y:.1f} {to_x} {to_y:.1f}"/>'


def _drawn(box: Box, column: tuple[int, int], top: float) -> str:
    x, width = column
    end = x + width - 12
    title = _fit(box.title, (width - 36) / _TITLE - len(box.chip))
    lines = [
        f'<rect x="{x}" y="{top:.1f}" width="{width}" height="{box.height}" rx="8"/>',
        f'<text class="title" x="{x + 12}" y="{top + 22:.1f}">{escape(title)}</text>',
        f'<text class="chip" x="{end}" y="{top + 22:.1f}" text-anchor="end">{escape(box.chip)}</text>',
    ]
    y = top + _HEAD + 14
    for name, form in box.rows:
        lines.append(f'<text class="name" x="{x + 12}" y="{y:.1f}">{escape(name)}</text>')
        room = (width - 40) / _CHARACTER - len(name)
        lines.append(f'<text class="form" x="{end}" y="{y:.1f}" text-anchor="end">{escape(_fit(form, room))}</text>')
        y += _ROW
    for note in box.notes:
        lines.append(f'<text class="note" x="{x + 12}" y="{y:.1f}">{escape(_fit(note, (width - 24) / 6.2))}</text>')
        y += _ROW
    return f'<g class="box {box.look}"><title>{escape(_title(box))}</title>{"".join(lines)}</g>'


def _title(box: Box) -> str:
    return "\n".join([box.title, *(f"{name}: {form}" for name, form in box.rows), *box.notes])


def _fit(text: str, room: float) -> str:
    return truncate(text, max(3, int(room)))

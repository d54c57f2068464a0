"""Diagram of states: from the initial one on the left to the final ones, with an arrow for every transition. SVG in the colours of the
page.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model import States

_WIDE, _TALL, _ACROSS, _DOWN = 148, 36, 76, 22
#: space for arrows that pass over or under other states
_ARC = 44
Place = tuple[float, float]


def layers_of(states: type[States]) -> list[list[States]]:
    """The states by their distance from the initial one, in the order of their declaration."""
    members = list(states)
    if not members:
        return []
    layers, seen = [[members[0]]], {members[0]}
    while True:
        following = {target for state in layers[-1] for target in state.successors} - seen
        if not following:
            return layers
        layers.append([member for member in members if member in following])
        seen |= following


def described(states: type[States]) -> str:
    """The transitions in a sentence."""
    moves = [
        f"{state} to {' or '.join(str(target) for target in states if target in state.successors)}" for state in states if not state.final
    ]
    final = [str(state) for state in states if state.final]
    ends = f" Final: {' or '.join(final)}." if final else ""
    return f"Initial: {next(iter(states))}. Transitions: {', '.join(moves)}.{ends}"


def state_svg(states: type[States]) -> str:
    """The diagram, with an accessible description."""
    layers = layers_of(states)
    deepest = max(len(layer) for layer in layers)
    middle = deepest * (_TALL + _DOWN) - _DOWN
    places = _places(layers, middle)
    numbers = {state: number for number, layer in enumerate(layers) for state in layer}
    moves = [(state, target) for state in places for target in places if target in state.successors]
    # A transition between neighbours and the one back share an arrow with two tips.
    back = {(state, target) for state, target in moves if numbers[target] == numbers[state] - 1 and state in target.successors}
    edges = [
        _move(places[state], places[target], numbers[target] - numbers[state], both=(target, state) in back)
        for state, target in moves
        if (state, target) not in back
    ]
    width = 28 + len(layers) * (_WIDE + _ACROSS) - _ACROSS + _ARC
    view = f'viewBox="0 0 {width} {middle + 2 * _ARC}" width="{width}" height="{middle + 2 * _ARC}"'
    first = places[layers[0][0]]
    start = f'<circle class="start" cx="8" cy="{first[1] + _TALL / 2:.1f}" r="5"/>' + _arrow(f"M13 {first[1] + _TALL / 2:.1f} H{first[0]}")
    boxes = [_box(state, place) for state, place in places.items()]
    return (
        f'<svg class="gl-states" role="img" aria-label="{escape(described(states))}" {view} xmlns="http://www.w3.org/2000/svg">'
        f"{_MARKER}{start}{''.join([*edges, *boxes])}</svg>"
    )


_MARKER = (
    '<defs><marker id="gl-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    '<path class="tip" d="M0 0 8 4 0 8Z"/></marker></defs>'
)


def _places(layers: Sequence[Sequence[States]], middle: float) -> dict[States, Place]:
    """The position of each state: a centred column for each layer."""
    found: dict[States, Place] = {}
    for number, layer in enumerate(layers):
        top = _ARC + (middle - (len(layer) * (_TALL + _DOWN) - _DOWN)) / 2
        for row, state in enumerate(layer):
            found[state] = (28 + number * (_WIDE + _ACROSS), top + row * (_TALL + _DOWN))
    return found


def _move(start: Place, end: Place, ahead: int, *, both: bool) -> str:
    """The arrow of a transition: straight to the next column, over the columns between, or back underneath."""
    (x, y), (to_x, to_y) = start, end
    if ahead == 1:
        bend, level, to_level = (x + _WIDE + to_x) / 2, y + _TALL / 2, to_y + _TALL / 2
        return _arrow(f"M{x + _WIDE} {level:.1f} C{bend} {level:.1f} {bend} {to_level:.1f} {to_x} {to_level:.1f}", both=both)
    if ahead == 0:
        out = x + _WIDE + _ARC - 8
        return _arrow(f"M{x + _WIDE} {y + 10:.1f} C{out} {y + 10:.1f} {out} {to_y + 26:.1f} {to_x + _WIDE} {to_y + 26:.1f}")
    from_x, into_x = x + _WIDE / 2, to_x + _WIDE / 2
    if ahead > 1:
        high = min(y, to_y) - _ARC + 4
        return _arrow(f"M{from_x + 16} {y:.1f} C{from_x + 16} {high:.1f} {into_x - 16} {high:.1f} {into_x - 16} {to_y:.1f}")
    low = max(y, to_y) + _TALL + _ARC - 4
    return _arrow(f"M{from_x - 16} {y + _TALL:.1f} C{from_x - 16} {low:.1f} {into_x + 16} {low:.1f} {into_x + 16} {to_y + _TALL:.1f}")


def _arrow(path: str, *, both: bool = False) -> str:
    start = ' marker-start="url(#gl-tip)"' if both else ""
    return f'<path class="edge"{start} marker-end="url(#gl-tip)" d="{path}"/>'


def _box(state: States, place: Place) -> str:
    x, y = place
    look = "state final" if state.final else "state"
    text = str(state) if len(str(state)) <= 18 else f"{str(state)[:17]}…"
    return (
        f'<g class="{look}"><title>{escape(str(state))}</title><rect x="{x}" y="{y:.1f}" width="{_WIDE}" height="{_TALL}" rx="8"/>'
        f'<text x="{x + _WIDE / 2}" y="{y + _TALL / 2 + 5:.1f}" text-anchor="middle">{escape(text)}</text></g>'
    )

"""The catalogue of scene elements. The description of each element is matched with the text of a scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gateleg.apps.mv.drawing.stage import Layer, Stage

#: A scene has one sky and one ground, or one field instead of both; the other kinds are optional.
Kind = Literal["sky", "far", "ground", "thing", "weather", "front", "field", "figure"]
#: where an element can be: outdoors, under water, in space, in a room or on a stage; an element without places can be anywhere
Place = Literal["outdoors", "water", "space", "room", "stage"]

Build = Callable[[Stage], Sequence[Layer]]


@dataclass(frozen=True, slots=True)
class Element:
    """A scene element that can be drawn."""

    name: str
    kind: Kind
    #: its description, in common words
    words: str
    places: tuple[Place, ...]
    build: Build
    #: other nouns that it represents, because no other element is closer
    also: str = ""


ELEMENTS: dict[str, Element] = {}


def element(kind: Kind, words: str, *places: Place, also: str = "") -> Callable[[Build], Build]:
    """Register a drawing function in the catalogue, under its own name."""

    def register(build: Build) -> Build:
        name = build.__name__.replace("_", " ")
        ELEMENTS[name] = Element(name, kind, words, places, build, also)
        return build

    return register

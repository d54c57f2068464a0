"""The library of scene elements: what can be drawn, each described in words, so that the words of a scene can choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from gateleg.apps.mv.drawing.stage import Layer, Stage

#: A scene has one sky and one ground or, in their place, one field; the other roles are optional.
Kind = Literal["sky", "far", "ground", "thing", "weather", "front", "field", "figure"]
#: where an element can be: outdoors, under water, in space, in a room, on a stage; empty fits anywhere
Place = Literal["outdoors", "water", "space", "room", "stage"]

Build = Callable[[Stage], Sequence[Layer]]


@dataclass(frozen=True, slots=True)
class Element:
    """Something that can be drawn."""

    name: str
    kind: Kind
    #: what it is, in the words that people would use for it
    words: str
    places: tuple[Place, ...]
    build: Build
    #: other nouns that it stands for, for want of a closer likeness
    also: str = ""


ELEMENTS: dict[str, Element] = {}


def element(kind: Kind, words: str, *places: Place, also: str = "") -> Callable[[Build], Build]:
    """Put a drawing function into the library, under its own name."""

    def register(build: Build) -> Build:
        name = build.__name__.replace("_", " ")
        ELEMENTS[name] = Element(name, kind, words, places, build, also)
        return build

    return register

"""The elements, by family. Importing this package fills the library in `catalogue`."""

from gateleg.apps.mv.drawing.elements import (
    animals,
    farm_animals,
    fields,
    floors,
    fowl,
    landmarks,
    lands,
    people,
    plants,
    products,
    sights,
    skies,
    things,
    towns,
    waters,
    weather,
)

__all__ = [
    "animals",
    "farm_animals",
    "fields",
    "floors",
    "fowl",
    "landmarks",
    "lands",
    "people",
    "plants",
    "products",
    "sights",
    "skies",
    "things",
    "towns",
    "waters",
    "weather",
]

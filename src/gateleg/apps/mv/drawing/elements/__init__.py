"""The scene elements by family. Importing this package fills the catalogue."""

from gateleg.apps.mv.drawing.elements import (
    animals,
    birds,
    farm_animals,
    fields,
    floors,
    landmarks,
    lands,
    people,
    plants,
    products,
    set_pieces,
    skies,
    things,
    towns,
    waters,
    weather,
)

__all__ = [
    "animals",
    "birds",
    "farm_animals",
    "fields",
    "floors",
    "landmarks",
    "lands",
    "people",
    "plants",
    "products",
    "set_pieces",
    "skies",
    "things",
    "towns",
    "waters",
    "weather",
]

"""The elements, by family. Importing this package fills the library in `catalogue`."""

from gateleg.apps.mv.drawing.elements import fields, figures, lands, plants, skies, things, towns, waters, weather

__all__ = ["fields", "figures", "lands", "plants", "skies", "things", "towns", "waters", "weather"]

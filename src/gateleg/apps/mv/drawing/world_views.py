"""The settings of a video: different views of the world that its text names, one for each part of the song."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.mv.drawing.catalogue import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.mv.drawing.catalogue import Kind

__all__ = ["WORLDS", "with_addition", "world_of", "world_views"]

#: Elements that belong together, far and near. The views of a video stay within one world.
WORLDS: dict[str, frozenset[str]] = {
    "city": frozenset({"skyline", "street", "road", "still lake", "neon signs", "car"}),
    "desert": frozenset({"dunes", "mesas", "road", "cacti"}),
    "antiquity": frozenset({"pyramids", "dunes", "ruins", "palms"}),
    "sea": frozenset({"ocean", "beach", "lighthouse", "sailing boat", "palms", "birds"}),
    "country": frozenset(
        {"hills", "grass field", "leafy trees", "village", "flower meadow", "great tree", "road", "birds", "butterflies", "near grass"}
    ),
    "forest": frozenset({"forest", "bare trees", "leafy trees", "mushrooms", "great tree", "still lake", "grass field", "near branches"}),
    "mountains": frozenset({"mountains", "snowy peaks", "hills", "still lake", "grass field", "volcano", "birds"}),
    "winter": frozenset({"snowfield", "snowy peaks", "forest", "bare trees"}),
    "tale": frozenset({"castle", "village", "hills", "forest", "mountains", "grass field", "still lake", "great tree"}),
    "railway": frozenset({"rails", "train", "hills", "skyline", "village"}),
    "industry": frozenset({"chimneys", "gears", "skyline", "rails", "road", "street"}),
    "space": frozenset({"craters", "ringed planet", "rocket"}),
    "water": frozenset({"seabed", "fish", "jellyfish"}),
    "stage": frozenset({"stage floor", "mirror ball", "screens", "neon signs", "crowd", "guitarist"}),
    "home": frozenset({"room floor", "candles", "clock", "screens"}),
}
#: Figures and buildings do not stand on water but on its shore.
_SHORES, _SWIMS = {"ocean": "beach"}, frozenset({"whale", "ghost", "swan", "eagle"})
_WATER, _AFLOAT = frozenset({"ocean", "still lake", "seabed"}), frozenset({"sailing boat", "birds", "lanterns"})
#: Above the first score, words plainly name a ground; below the second, the ground follows the other elements.
_PLAINLY, _UNSAID = 0.5, 0.42


def world_of(elements: Sequence[str], fits: Mapping[str, float]) -> str:
    """The world of most of the elements, weighted by their scores; empty if they belong to none."""
    shares = {name: sum(fits.get(one, 0.0) for one in elements if one in world) for name, world in WORLDS.items()}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] > 0 else ""


def world_views(elements: Sequence[str], figure: str, fits: Mapping[str, float], place: str) -> tuple[tuple[str, ...], ...]:
    """The elements of each setting of a video, from back to front: first those of the text, then other views of the same world.

    What the words name besides ground and distance (things, weather) is in all of them.
    """
    home = tuple(elements)
    if figure and figure not in _SWIMS:
        home = tuple(_SHORES.get(one, one) for one in home)
    world = WORLDS.get(world_of([*home, figure], fits), frozenset())
    grounds, fars = _of_kind("ground", home), _of_kind("far", home)
    if not world or not grounds:
        return (home,)

    def others(kind: Kind, but: Sequence[str]) -> list[str]:
        found = [one for one in world if ELEMENTS[one].kind == kind and one not in but and _is_at(one, place)]
        return sorted(found, key=lambda one: (-fits.get(one, 0.0), one))

    far_off, under = others("far", fars), others("ground", grounds)
    if figure or any(ELEMENTS[one].kind == "thing" and one not in _AFLOAT for one in home):
        under = [one for one in under if one not in _WATER]
    if under and grounds[0] not in world and fits.get(grounds[0], 0.0) < _UNSAID:
        home, grounds, under = _with(home, far=(fars or [""])[0], ground=under[0]), under[:1], under[1:]
    views = [home]
    if far_off:
        views.append(_with(home, far=far_off[0]))
    if under:
        views.append(_with(home, far=(fars or far_off[:1] or [""])[0], ground=under[0]))
    if len(far_off) > 1:
        views.append(_with(home, far=far_off[1]))
    if len(under) > 1 and fits.get(grounds[0], 0.0) < _PLAINLY:
        views.append(_with(home, far=(far_off[:1] or fars or [""])[0], ground=under[1]))
    return tuple(dict.fromkeys(views))


def with_addition(view: Sequence[str], figure: str, fits: Mapping[str, float], place: str, kind: Kind) -> tuple[str, ...]:
    """Add an element of the same world to a view, a thing or a foreground, if it has none of that kind."""
    if _of_kind(kind, view):
        return tuple(view)
    world = WORLDS.get(world_of([*view, figure], fits), frozenset())
    found = [one for one in world if ELEMENTS[one].kind == kind and _is_at(one, place)]
    if not found:
        return tuple(view)
    best = min(found, key=lambda one: (-fits.get(one, 0.0), one))
    at = next((at for at, one in enumerate(view) if ELEMENTS[one].kind in ("weather", "front")), len(view))
    return (*view[:at], best, *view[at:])


def _of_kind(kind: Kind, elements: Sequence[str]) -> list[str]:
    return [one for one in elements if ELEMENTS[one].kind == kind]


def _is_at(name: str, place: str) -> bool:
    return not ELEMENTS[name].places or place in ELEMENTS[name].places


def _with(home: Sequence[str], far: str = "", ground: str = "") -> tuple[str, ...]:
    """A composition with another far element, another ground, or both."""
    sky = [one for one in home if ELEMENTS[one].kind == "sky"]
    grounds = [ground] if ground else _of_kind("ground", home)
    rest = [one for one in home if ELEMENTS[one].kind not in ("sky", "far", "ground")]
    return (*sky, *([far] if far else []), *grounds, *rest)

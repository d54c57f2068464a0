"""The timeline of a project: loudness, beats, bars and sections of its song, and its scenes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.mv.tables import Scene

#: The number of points of the loudness curve, and the height of the SVG in its own units.
_POINTS, _HEIGHT = 500, 100
#: More beats than this are not drawn, because they would run together.
_MOST_BEATS = 400


@dataclass(frozen=True, slots=True)
class Block:
    """A scene on the timeline, with its start and length as percentages of the film."""

    sequence: int
    place: int
    left: float
    width: float
    start: float
    scene: Scene


def place_scenes(scenes: Sequence[Scene]) -> list[Block]:
    """The scenes in playing order."""
    total = sum(scene.duration for scene in scenes) or 1.0
    found, start = [], 0.0
    for place, scene in enumerate(scenes, 1):
        found.append(Block(scene.sequence, place, 100 * start / total, 100 * scene.duration / total, start, scene))
        start += scene.duration
    return found


def draw_song(song: Mapping[str, Any]) -> str:
    """The analysis of a song as an SVG that is stretched over the timeline. Colours come from CSS classes."""
    seconds = float(song["duration"]) or 1.0
    return (
        f'<svg class="mv-song" viewBox="0 0 1000 {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{_words(song)}">'
        f"{_bands(song, seconds)}{_grid(song, seconds)}{_curve(song['level'])}</svg>"
    )


def section_labels(song: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """The names of the sections, with their start and length in percent."""
    seconds = float(song["duration"]) or 1.0
    return [(str(one["part"]), 100 * one["start"] / seconds, 100 * (one["end"] - one["start"]) / seconds) for one in song["sections"]]


def _words(song: Mapping[str, Any]) -> str:
    tempo = f"{song['tempo']:.0f} BPM" if song["tempo"] else "no clear beat"
    parts = ", ".join(f"{one['part']} from {one['start']:.0f} s" for one in song["sections"])
    return escape(f"Loudness of the song over {song['duration']:.0f} seconds; {tempo}; {parts}")


def _bands(song: Mapping[str, Any], seconds: float) -> str:
    return "".join(
        f'<rect class="part part-{escape(str(one["part"]))}" x="{1000 * one["start"] / seconds:.1f}" y="0" '
        f'width="{1000 * (one["end"] - one["start"]) / seconds:.1f}" height="{_HEIGHT}"/>'
        for one in song["sections"]
    )


def _grid(song: Mapping[str, Any], seconds: float) -> str:
    """Bars as lines over the whole height, beats as short lines at the bottom."""
    beats = "".join(f"M{1000 * at / seconds:.1f} 94V{_HEIGHT}" for at in song["beats"]) if len(song["beats"]) <= _MOST_BEATS else ""
    bars = "".join(f"M{1000 * at / seconds:.1f} 0V{_HEIGHT}" for at in song["bars"][: 2 * _MOST_BEATS])
    return f'<path class="bars" d="{bars}"/><path class="beats" d="{beats}"/>'


def _curve(level: Sequence[float]) -> str:
    """Loudness as an area around the middle."""
    if not level:
        return ""
    count = min(_POINTS, len(level))
    highs = [max(level[index * len(level) // count : (index + 1) * len(level) // count]) for index in range(count)]
    over = [f"{1000 * index / (count - 1 or 1):.1f} {50 - 44 * high:.1f}" for index, high in enumerate(highs)]
    under = [f"{1000 * index / (count - 1 or 1):.1f} {50 + 44 * high:.1f}" for index, high in reversed(list(enumerate(highs)))]
    return f'<path class="level" d="M{"L".join(over)}L{"L".join(under)}Z"/>'

"""Place the cuts of a video on section starts and bar lines, to the frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.listening.sections import Part, Section
    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.planning.presets import Preset, Transition

Role = Literal["establish", "introduce", "develop", "lift", "break", "climax", "close"]

#: the length of scenes in seconds in the quietest and in the loudest passages
_CALM, _WILD = 7.0, 2.6
#: the shortest scene, in seconds, unless the song is shorter
MIN_SCENE_SECONDS = 1.2


@dataclass(frozen=True, slots=True)
class Slot:
    """The position and style of a scene in the video. Frames count from the start of the song."""

    index: int
    first: int
    frames: int
    part: Part
    #: sections that sound alike share a letter; `repeat` counts the earlier sections with it
    letter: str
    repeat: int
    #: the index of the slot that this one varies: at the same position in the first section with this letter; its own index if it is first
    twin: int
    role: Role
    energy: float
    #: how much elements and camera move, from 0 to 1, and the brightness, from -1 to 1
    motion: float
    brightness: float
    #: the transition into the scene, and its length in frames
    transition: Transition
    overlap: int
    #: the seed of the scene, if it differs from the video's
    seed: int | None = None

    @property
    def last(self) -> int:
        """The first frame after the scene."""
        return self.first + self.frames


@dataclass(frozen=True, slots=True)
class Plan:
    """All scenes of a video, without gaps."""

    fps: int
    frames: int
    slots: tuple[Slot, ...]

    @property
    def cuts(self) -> tuple[float, ...]:
        """The times of the cuts between scenes, in seconds."""
        return tuple(slot.first / self.fps for slot in self.slots[1:])


def plan_video(song: Song, preset: Preset, fps: int = 24, most: int = 999) -> Plan:
    """Divide a song into at most `most` scenes. Cuts fall on section starts and bar lines; louder passages have shorter scenes."""
    frames = max(round(song.duration * fps), 1)
    stretch = 1.0
    while True:
        cuts = _cuts(song, preset, fps, frames, stretch)
        if len(cuts) <= most or stretch > 20:
            break
        stretch *= 1.3
    while len(cuts) > max(most, 1):
        shortest = min(range(1, len(cuts)), key=lambda at: cuts[at][0] - cuts[at - 1][0])
        del cuts[shortest]
    slots: list[Slot] = []
    for index, (first, section) in enumerate(cuts):
        last = cuts[index + 1][0] if index + 1 < len(cuts) else frames
        slots.append(_slot(index, first, last - first, section, slots, preset, fps, len(cuts)))
    return Plan(fps, frames, tuple(slots))


def _cuts(song: Song, preset: Preset, fps: int, frames: int, stretch: float) -> list[tuple[int, Section]]:
    """The first frame of each scene, with its section."""
    cuts: list[tuple[int, Section]] = []
    for section in song.sections:
        lines = [bar for bar in song.bars if section.start + 0.05 < bar < section.end - 0.05]
        wanted = (_CALM + (_WILD - _CALM) * section.energy) * preset.pace * stretch
        for time in (section.start, *_spaced(lines, section, wanted)):
            first = round(time * fps)
            if not cuts or (first - cuts[-1][0] >= MIN_SCENE_SECONDS * fps and frames - first >= MIN_SCENE_SECONDS * fps):
                cuts.append((first if cuts else 0, section))
    return cuts


def _spaced(lines: Sequence[float], section: Section, wanted: float) -> list[float]:
    """The bar lines at which to cut a section, so that its scenes have about the wanted length and none is much shorter."""
    count = max(round((section.end - section.start) / wanted), 1)
    step = (section.end - section.start) / count
    chosen: list[float] = []
    for number in range(1, count):
        ideal = section.start + number * step
        if not lines:
            break
        nearest = min(lines, key=lambda line: abs(line - ideal))
        if (not chosen or nearest - chosen[-1] > 0.4 * step) and section.end - nearest > 0.4 * step:
            chosen.append(nearest)
    return chosen


def _slot(index: int, first: int, frames: int, section: Section, slots: Sequence[Slot], preset: Preset, fps: int, count: int) -> Slot:
    before = slots[-1] if slots else None
    new = before is None or (before.letter, before.repeat) != (section.letter, section.repeat)
    place = 0 if new else sum(1 for slot in slots if (slot.letter, slot.repeat) == (section.letter, section.repeat))
    twins = [slot for slot in slots if slot.letter == section.letter and slot.repeat == 0]
    twin = twins[place].index if section.repeat and place < len(twins) else index
    transition, overlap = _transition(section, before, preset, fps, frames) if before else ("cut", 0)
    later = min(section.repeat, 3) * 0.08
    return Slot(
        index=index,
        first=first,
        frames=frames,
        part=section.part,
        letter=section.letter,
        repeat=section.repeat,
        twin=twin,
        role=_role(index, count, section, slots),
        energy=section.energy,
        motion=min(0.25 + 0.75 * section.energy + later, 1.0),
        brightness=round((section.energy - 0.5) * 0.7 + later, 3),
        transition=transition,
        overlap=overlap,
    )


def _transition(section: Section, before: Slot, preset: Preset, fps: int, frames: int) -> tuple[Transition, int]:
    """The preset's calm or strong transition at section changes; plain cuts within energetic sections."""
    step = section.energy - before.energy
    if abs(step) < 0.15 and section.energy > 0.35 and section.letter == before.letter:
        return "cut", 0
    kind = preset.strong if step > 0.25 else preset.calm
    seconds = 0.0 if kind == "cut" else 0.35 if step > 0.25 else 1.2 - 0.7 * section.energy
    return kind, min(round(seconds * fps), frames // 2, before.frames // 2)


def _role(index: int, count: int, section: Section, slots: Sequence[Slot]) -> Role:
    if index == 0:
        return "establish"
    if index == count - 1:
        return "close"
    if section.part == "break":
        return "break"
    if section.part == "chorus":
        return "climax" if section.repeat >= 1 else "lift"
    return "introduce" if all(slot.role != "introduce" for slot in slots) else "develop"

"""Lyrics: lines with their times, parsed from LRC, SRT or plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.mv.errors import UnreadableLyrics
from gateleg.apps.mv.listening.song import CURVE_RATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.listening.song import Song

_LRC = re.compile(r"\[(\d{1,3}):(\d{1,2})(?:[.:](\d{1,3}))?\]")
_SRT = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})[,.](\d{1,3})\s*-->\s*(\d{1,2}):(\d{2}):(\d{2})[,.](\d{1,3})")
#: the longest time a line is shown, in seconds
_LONGEST = 6.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text with its start and end, in seconds."""

    start: float
    end: float
    text: str


def read_lyrics(text: str, song: Song) -> tuple[Line, ...]:
    """Parse LRC, SRT or plain text. Lines of plain text are distributed over the sections that may be sung, each starting on a beat.

    Raises `UnreadableLyrics` if there are no lines, or more than 200,000 characters.
    """
    if len(text) > 200_000:
        raise UnreadableLyrics("The lyrics have more than 200,000 characters.")
    if _SRT.search(text):
        lines = _read_srt(text)
    elif _LRC.search(text):
        lines = _read_lrc(text, song.duration)
    else:
        lines = _spread([line.strip() for line in text.splitlines() if line.strip()], song)
    if text.strip() and not lines:
        raise UnreadableLyrics("The lyrics contain no lines.")
    return tuple(line for line in lines if line.start < song.duration)


def _read_lrc(text: str, duration: float) -> list[Line]:
    marks: list[tuple[float, str]] = []
    for row in text.splitlines():
        words = re.sub(r"<\d+:\d+(?:\.\d+)?>", "", _LRC.sub("", row)).strip()
        for minutes, seconds, part in _LRC.findall(row):
            marks.append((int(minutes) * 60 + int(seconds) + (float(f"0.{part}") if part else 0.0), words))
    marks.sort(key=lambda mark: mark[0])
    ends = [*(start for start, _ in marks[1:]), duration]
    return [
        Line(start, min(end, start + _LONGEST), words) for (start, words), end in zip(marks, ends, strict=True) if words and end > start
    ]


def _read_srt(text: str) -> list[Line]:
    lines = []
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        found = _SRT.search(block)
        if found:
            values = [int(value) for value in found.groups()]
            start, end = (values[at] * 3600 + values[at + 1] * 60 + values[at + 2] + float(f"0.{found.group(at + 4)}") for at in (0, 4))
            words = re.sub(r"<[^>]+>|\{[^}]+\}", "", " ".join(block[found.end() :].split()))
            if words and end > start:
                lines.append(Line(start, end, words))
    return sorted(lines, key=lambda line: line.start)


def _spread(rows: Sequence[str], song: Song) -> list[Line]:
    """Distribute lines over the sections other than intro, break and outro."""
    sung = [section for section in song.sections if section.part in ("verse", "chorus")] or list(song.sections)
    total = sum(section.end - section.start for section in sung)
    if not rows or total <= 0:
        return []
    step = min(total / len(rows), _LONGEST)
    lines = []
    for number, row in enumerate(rows):
        passed = (number + 0.1) * total / len(rows)
        for section in sung:
            length = section.end - section.start
            if passed < length:
                start = _nearest(song.beats, section.start + passed)
                lines.append(Line(round(start, 3), round(min(start + step * 0.95, song.duration), 3), row))
                break
            passed -= length
    return [line for line in lines if _audible(song, line)]


def _audible(song: Song, line: Line) -> bool:
    window = song.level[int(line.start * CURVE_RATE) : int(line.end * CURVE_RATE) + 1]
    return bool(window) and line.end > line.start


def _nearest(beats: Sequence[float], time: float) -> float:
    return min(beats, key=lambda beat: abs(beat - time)) if beats else time


def write_srt(lines: Sequence[Line]) -> str:
    """The lines as an SRT file."""

    def stamp(seconds: float) -> str:
        whole = round(seconds * 1000)
        return f"{whole // 3_600_000:02d}:{whole // 60_000 % 60:02d}:{whole // 1000 % 60:02d},{whole % 1000:03d}"

    return "\n".join(f"{number}\n{stamp(line.start)} --> {stamp(line.end)}\n{line.text}\n" for number, line in enumerate(lines, 1))

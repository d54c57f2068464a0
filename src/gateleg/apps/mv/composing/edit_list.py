"""Edit lists for other editing programs: CMX 3600 EDL and OpenTimelineIO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Cut:
    """A clip in a video: its file, first frame in the video and number of frames."""

    name: str
    file: str
    first: int
    frames: int
    note: str = ""


def timecode(frame: int, fps: int) -> str:
    """Hours, minutes, seconds and frames."""
    seconds = frame // fps
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}:{frame % fps:02d}"


def write_edl(title: str, cuts: Sequence[Cut], fps: int) -> str:
    """The video as a CMX 3600 edit decision list, starting at 01:00:00:00 as is usual."""
    hour = 3600 * fps
    lines = [f"TITLE: {' '.join(title.split())[:70] or 'UNTITLED'}", "FCM: NON-DROP FRAME", ""]
    for number, cut in enumerate(cuts, 1):
        source = f"{timecode(0, fps)} {timecode(cut.frames, fps)}"
        record = f"{timecode(hour + cut.first, fps)} {timecode(hour + cut.first + cut.frames, fps)}"
        lines += [f"{number:03d}  AX       V     C        {source} {record}", f"* FROM CLIP NAME: {cut.file}"]
        if cut.note:
            lines.append(f"* COMMENT: {' '.join(cut.note.split())[:200]}")
    return "\n".join(lines) + "\n"


def _time(value: int, fps: int) -> dict[str, Any]:
    return {"OTIO_SCHEMA": "RationalTime.1", "rate": float(fps), "value": float(value)}


def _range(start: int, frames: int, fps: int) -> dict[str, Any]:
    return {"OTIO_SCHEMA": "TimeRange.1", "start_time": _time(start, fps), "duration": _time(frames, fps)}


def write_otio(title: str, cuts: Sequence[Cut], fps: int, song: str | None = None, beats: Sequence[float] = ()) -> dict[str, Any]:
    """The video as an OpenTimelineIO timeline, as JSON values: a track of clips, a track of the song, and a marker for each beat."""
    markers = [
        {"OTIO_SCHEMA": "Marker.2", "name": "beat", "color": "GREEN", "marked_range": _range(round(beat * fps), 0, fps), "metadata": {}}
        for beat in beats
    ]
    clips = [_clip(cut.name, cut.file, cut.frames, fps, {"gateleg": {"prompt": cut.note}}) for cut in cuts]
    tracks = [_track("Pictures", "Video", clips, markers)]
    if song:
        length = sum(cut.frames for cut in cuts)
        tracks.append(_track("Song", "Audio", [_clip("song", song, length, fps, {})], []))
    stack: dict[str, Any] = {
        "OTIO_SCHEMA": "Stack.1",
        "name": "tracks",
        "children": tracks,
        "effects": [],
        "markers": [],
        "metadata": {},
        "source_range": None,
    }
    return {"OTIO_SCHEMA": "Timeline.1", "name": title, "global_start_time": _time(0, fps), "tracks": stack, "metadata": {}}


def _track(name: str, kind: str, children: list[dict[str, Any]], markers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "OTIO_SCHEMA": "Track.1",
        "name": name,
        "kind": kind,
        "children": children,
        "effects": [],
        "markers": markers,
        "metadata": {},
        "source_range": None,
    }


def _clip(name: str, file: str, frames: int, fps: int, metadata: dict[str, Any]) -> dict[str, Any]:
    media = {
        "OTIO_SCHEMA": "ExternalReference.1",
        "target_url": file,
        "available_range": _range(0, frames, fps),
        "metadata": {},
        "name": name,
    }
    return {
        "OTIO_SCHEMA": "Clip.2",
        "name": name,
        "source_range": _range(0, frames, fps),
        "media_references": {"DEFAULT_MEDIA": media},
        "active_media_reference_key": "DEFAULT_MEDIA",
        "effects": [],
        "markers": [],
        "metadata": metadata,
    }

"""CMX 3600 edit lists (EDL) for other editing programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Cut:
    """A clip in a video: its file, first frame in the video and number of frames."""

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

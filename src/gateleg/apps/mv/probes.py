"""Probe uploaded files in a process with limits, because a malicious file may exhaust or crash a decoder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gateleg.apps.mv.errors import MusicVideoError, SongTooLong, UnreadableClip, UnreadablePicture, UnreadableSong, reason_of
from gateleg.processes import LimitReached, ProcessLimits, run_limited

Kind = Literal["audio", "video", "picture"]
_UNREADABLE: dict[str, type[MusicVideoError]] = {"audio": UnreadableSong, "video": UnreadableClip, "picture": UnreadablePicture}
_REFUSALS = (SongTooLong, UnreadableClip, UnreadablePicture, UnreadableSong)
#: Seconds of audio that are decoded as a check.
_HEARD = 2.0
#: The largest side of a clip's frames in pixels, and the shortest clip in seconds.
_WIDEST, _SHORTEST = 8192, 0.1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on the length of a file, and on the time and memory for probing it."""

    #: the longest audio or video, in seconds
    longest: float
    seconds: float = 20.0
    memory: int = 1_500_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    """The properties of a media file."""

    #: the length of a song (according to its header; analysis finds the exact length) or of a clip
    seconds: float = 0.0
    width: int = 0
    height: int = 0


async def probe(path: Path, kind: Kind, bounds: Bounds) -> Facts:
    """Probe a file. Raises `UnreadableSong`, `SongTooLong`, `UnreadableClip` or `UnreadablePicture`."""
    request = {"path": str(path), "kind": kind, "bounds": asdict(bounds)}
    limits = ProcessLimits(bounds.seconds, bounds.memory)
    reader = "drawing.picture" if kind == "picture" else "composing.conforming"
    try:
        found = await run_limited(f"{__name__}:answer", request, limits, refusals=_REFUSALS, imports=[f"gateleg.apps.mv.{reader}"])
    except LimitReached as reached:
        if reached.limit == "seconds":
            raise _UNREADABLE[kind](f"{path.name} could not be read within {bounds.seconds:g} seconds.") from None
        raise _UNREADABLE[kind](f"{path.name} cannot be decoded: it needed too much memory, or crashed the decoder.") from None
    return Facts(**found)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Probe the file of a request, in the process that `probe` starts."""
    return asdict(probe_in_process(Path(request["path"]), request["kind"], Bounds(**request["bounds"])))


def probe_in_process(path: Path, kind: Kind, bounds: Bounds) -> Facts:
    """Probe a file in this process."""
    try:
        return {"audio": _song, "video": _clip, "picture": _picture}[kind](path, bounds)
    except MemoryError:
        raise _UNREADABLE[kind](f"{path.name} cannot be decoded: it needs more than {bounds.memory:,} bytes of memory.") from None
    except (ValueError, IndexError) as error:
        # Damaged metadata, such as text that is not UTF-8.
        raise _UNREADABLE[kind](f"{path.name} cannot be decoded: {reason_of(error)}.") from None


def _song(path: Path, bounds: Bounds) -> Facts:
    import av

    from gateleg.apps.mv.media_files import open_media

    try:
        with open_media(path) as container:
            if not container.streams.audio:
                raise UnreadableSong(f"{path.name} has no audio track.")
            seconds = (container.duration or 0) / av.time_base
            if seconds > bounds.longest:
                raise SongTooLong(f"{path.name} is {seconds:.0f} s long; the limit is {bounds.longest:.0f} s.")
            heard = 0.0
            for frame in container.decode(audio=0):
                heard += frame.samples / (frame.sample_rate or 44_100)
                if heard >= _HEARD:
                    break
    except (av.FFmpegError, OSError) as error:
        raise UnreadableSong(f"{path.name} cannot be decoded: {reason_of(error)}.") from None
    if not heard:
        raise UnreadableSong(f"{path.name} has an audio track without samples.")
    return Facts(seconds=seconds)


def _clip(path: Path, bounds: Bounds) -> Facts:
    from gateleg.apps.mv.composing.conforming import probe_clip

    facts = probe_clip(path)
    if max(facts.width, facts.height) > _WIDEST:
        raise UnreadableClip(f"{path.name} has frames of {facts.width}x{facts.height} pixels; the limit is {_WIDEST} pixels per side.")
    if not _SHORTEST <= facts.seconds <= bounds.longest:
        raise UnreadableClip(f"{path.name} is {facts.seconds:.1f} s long; clips must be {_SHORTEST:g} to {bounds.longest:.0f} s long.")
    return Facts(facts.seconds, facts.width, facts.height)


def _picture(path: Path, bounds: Bounds) -> Facts:
    from gateleg.apps.mv.drawing.picture import read_picture

    found, _ = read_picture(path)
    return Facts(width=found.width(), height=found.height())

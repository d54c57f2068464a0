"""Looking into uploaded files in a process of its own, with bounds on its memory and its time: `python -m gateleg.apps.mv.probing`.

Files that somebody sends may be made to cost as much as possible, or to break a decoder. The host stays what it was when such a process
ends badly.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gateleg.apps.mv.errors import MusicVideoError, SongTooLong, UnreadableClip, UnreadablePicture, UnreadableSong, reason_of

Kind = Literal["audio", "video", "picture"]
_UNREADABLE: dict[str, type[MusicVideoError]] = {"audio": UnreadableSong, "video": UnreadableClip, "picture": UnreadablePicture}
_CODES = {kind.code: kind for kind in (SongTooLong, UnreadableClip, UnreadablePicture, UnreadableSong)}
#: Seconds of sound that are decoded to see that there is some.
_HEARD = 2.0
#: Sides of pictures in a clip, and the shortest clip.
_WIDEST, _SHORTEST = 8192, 0.1


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a file may hold, and what looking into it may cost."""

    #: seconds of sound or pictures
    longest: float
    seconds: float = 20.0
    memory: int = 1_500_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    """What is in a file."""

    #: of a song or a clip; as its header says for songs, whose whole length is known when they are listened to
    seconds: float = 0.0
    width: int = 0
    height: int = 0


async def probe(path: Path, kind: Kind, bounds: Bounds) -> Facts:
    """What is in a file. Raises what it is not: `UnreadableSong`, `SongTooLong`, `UnreadableClip` or `UnreadablePicture`."""
    asked = json.dumps({"path": str(path), "kind": kind, "bounds": asdict(bounds)}).encode()
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # Not by the event loop: uvloop forks, which can hang in a process with threads.
    process = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    )
    ending = asyncio.ensure_future(asyncio.to_thread(process.communicate, asked))
    try:
        await asyncio.wait_for(asyncio.shield(ending), bounds.seconds)
    except TimeoutError:
        raise _UNREADABLE[kind](f"{path.name} cannot be read within {bounds.seconds:g} seconds.") from None
    finally:
        process.kill()
        with contextlib.suppress(asyncio.CancelledError):
            await ending
    return _answer(ending.result()[0], process.returncode, path, kind)


def _answer(out: bytes, status: int, path: Path, kind: Kind) -> Facts:
    """What the process has found. One that ended without an answer was killed by the file."""
    try:
        told: dict[str, Any] = json.loads(out)
    except ValueError:
        raise _UNREADABLE[kind](f"{path.name} cannot be decoded: it took too much memory, or broke the decoder ({status}).") from None
    if "code" in told:
        raise _CODES[told["code"]](told["message"])
    return Facts(**told)


def look(path: Path, kind: Kind, bounds: Bounds) -> Facts:
    """What is in a file, looked at here."""
    try:
        return {"audio": _song, "video": _clip, "picture": _picture}[kind](path, bounds)
    except MemoryError:
        raise _UNREADABLE[kind](f"{path.name} cannot be decoded: it takes more than {bounds.memory:,} bytes of memory.") from None
    except (ValueError, IndexError) as error:
        # Of damaged metadata, such as text that is not UTF-8.
        raise _UNREADABLE[kind](f"{path.name} cannot be decoded: {reason_of(error)}.") from None


def _song(path: Path, bounds: Bounds) -> Facts:
    import av

    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise UnreadableSong(f"{path.name} has no audio track.")
            seconds = (container.duration or 0) / av.time_base
            if seconds > bounds.longest:
                raise SongTooLong(f"{path.name} is {seconds:.0f} s long; at most {bounds.longest:.0f} s are taken.")
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
        raise UnreadableClip(f"{path.name} has pictures of {facts.width}x{facts.height}; at most {_WIDEST} pixels a side are taken.")
    if not _SHORTEST <= facts.seconds <= bounds.longest:
        raise UnreadableClip(f"{path.name} is {facts.seconds:.1f} s long; {_SHORTEST:g} to {bounds.longest:.0f} s are taken.")
    return Facts(facts.seconds, facts.width, facts.height)


def _picture(path: Path, bounds: Bounds) -> Facts:
    from gateleg.apps.mv.drawing.picture import read_picture

    found, _ = read_picture(path)
    return Facts(width=found.width(), height=found.height())


def _limit(bounds: Bounds) -> None:
    """Have the system end this process when it takes too much."""
    try:
        import resource
    except ImportError:
        return
    seconds = int(bounds.seconds) + 1
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (bounds.memory, bounds.memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def main() -> None:
    """Look into the file that standard input names, and print what is in it."""
    asked = json.loads(sys.stdin.buffer.read())
    bounds = Bounds(**asked["bounds"])
    # Loaded before the limit holds: a library that lacks memory while it is loaded says anything but that.
    if asked["kind"] == "picture":
        import gateleg.apps.mv.drawing.picture
    else:
        import gateleg.apps.mv.composing.conforming  # noqa: F401
    _limit(bounds)
    try:
        found = asdict(look(Path(asked["path"]), asked["kind"], bounds))
    except MusicVideoError as error:
        found = {"code": error.code, "message": error.message}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

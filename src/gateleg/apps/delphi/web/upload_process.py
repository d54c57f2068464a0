"""Reading an upload in a process of its own, with bounds on its memory and its time: `python -m gateleg.apps.delphi.web.upload_process`.

Files that somebody sends may be made to cost as much as possible. The host stays what it was when such a process is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.errors import DelphiError, MissingColumns, Problem, UnreadableFile, UnreadableRows, UploadTooLarge
from gateleg.apps.delphi.web.receiving import Bounds, Received, check_lines, read_received, told_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARTS = ("participants", "comments", "choices", "times")
_ERRORS: dict[str, type[DelphiError]] = {kind.code: kind for kind in (MissingColumns, UnreadableFile, UploadTooLarge)}
#: The status with which the process ends that has run out of memory.
_NO_MEMORY = 3
_FIX = "Send less at once. Whoever runs the host can raise upload_rows, upload_memory and upload_seconds."


@dataclass(frozen=True)
class Reading:
    """What a process is asked to read, and what it may cost."""

    files: tuple[str, ...]
    #: what each file is, where that is known; otherwise they are told apart
    kinds: tuple[str, ...] | None
    #: where it writes what it has read
    folder: str
    conversation: str
    topic: str
    description: str
    bounds: Bounds


async def read_upload(
    files: Sequence[Path],
    folder: Path,
    bounds: Bounds,
    conversation: str,
    *,
    topic: str = "",
    description: str = "",
    kinds: Sequence[str] | None = None,
) -> Conversation:
    """The conversation in some files, of which `kinds` may say what each is.

    Raises what reading them raises, and `UploadTooLarge` when it takes too much memory or time.
    """
    known = None if kinds is None else tuple(kinds)
    reading = Reading(tuple(map(str, files)), known, str(folder), conversation, topic, description, bounds)
    # numpy's threads would each take a share of the memory, and have nothing to do here.
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # Not by the event loop: uvloop forks, which can hang in a process with threads.
    process = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)
    ending = asyncio.ensure_future(asyncio.to_thread(process.communicate, json.dumps(asdict(reading)).encode()))
    try:
        await asyncio.wait_for(asyncio.shield(ending), bounds.seconds)
    except TimeoutError:
        raise UploadTooLarge(f"The files cannot be read within {bounds.seconds:g} seconds.", fix=_FIX) from None
    finally:
        process.kill()
        with contextlib.suppress(asyncio.CancelledError):
            await ending
    if process.returncode == _NO_MEMORY or process.returncode < 0:
        raise UploadTooLarge(f"The files cannot be read with {bounds.memory:,} bytes of memory.", fix=_FIX)
    if process.returncode:
        raise RuntimeError(f"the process that reads uploads has failed: {ending.result()[1].decode(errors='replace')[-2_000:]}")
    return await asyncio.to_thread(_taken, folder)


def _taken(folder: Path) -> Conversation:
    """What the process has written: the conversation, or the error, which is raised."""
    import numpy as np

    from gateleg.apps.delphi.conversations.votes import Votes

    told = json.loads((folder / "read.json").read_bytes())
    if "error" in told:
        raise _error(told["error"])
    with np.load(folder / "votes.npz", allow_pickle=False) as arrays:
        votes = Votes(*(arrays[name] for name in _PARTS))
    comments = [
        Comment(**one | {"created_at": None if one["created_at"] is None else datetime.fromisoformat(one["created_at"])})
        for one in told.pop("comments")
    ]
    return Conversation(votes=votes, comments=comments, **told | {"removed_participants": frozenset(told["removed_participants"])})


def _error(told: dict[str, Any]) -> DelphiError:
    if told["code"] == UnreadableRows.code:
        return UnreadableRows([Problem(**one) for one in told["problems"]], told["count"])
    return _ERRORS[told["code"]](told["what"], fix=told["fix"])


def _describe(error: DelphiError) -> dict[str, Any]:
    found: dict[str, Any] = {"code": error.code, "what": error.message, "fix": error.fix}
    if isinstance(error, UnreadableRows):
        found |= {"count": error.count, "problems": [asdict(problem) for problem in error.problems]}
    return {"error": found}


def _read(reading: Reading) -> dict[str, Any]:
    """Read the files, write the votes, and give back all the rest."""
    import numpy as np

    folder = Path(reading.folder)
    files = [Path(name) for name in reading.files]
    if reading.kinds is None:
        received = told_apart(files, folder, reading.bounds)
    else:
        received = Received(**dict(zip(reading.kinds, files, strict=True)))
        for path in files:
            check_lines(path, reading.bounds.rows)
    read = read_received(received, reading.conversation, reading.topic, reading.description)
    np.savez(folder / "votes.npz", **{name: getattr(read.votes, name) for name in _PARTS})
    comments = [asdict(one) | {"created_at": None if one.created_at is None else one.created_at.isoformat()} for one in read.comments]
    return {
        "conversation_id": read.conversation_id,
        "comments": comments,
        "topic": read.topic,
        "description": read.description,
        "removed_participants": sorted(read.removed_participants),
        "summary": read.summary,
    }


def _limit(memory: int, seconds: float) -> None:
    """Have the system end this process when it takes too much."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))


def main() -> None:
    """Read what standard input says, and write it into its folder."""
    told = json.loads(sys.stdin.buffer.read())
    reading = Reading(**told | {"bounds": Bounds(**told["bounds"])})
    # Loaded before the limit holds: a library that lacks memory while it is loaded says anything but that.
    import_module("gateleg.apps.delphi.conversations.exports")

    _limit(reading.bounds.memory, reading.bounds.seconds)
    try:
        found = _read(reading)
    except DelphiError as error:
        found = _describe(error)
    except MemoryError:
        os._exit(_NO_MEMORY)
    (Path(reading.folder) / "read.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()

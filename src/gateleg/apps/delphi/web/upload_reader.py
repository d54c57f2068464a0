"""Reads uploaded files in a process with limits on time and memory, because they may be malicious."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.files import ConversationFiles, read_conversation
from gateleg.apps.delphi.errors import InvertedVotes, MissingColumns, Problem, UnreadableFile, UnreadableRows, UploadTooLarge
from gateleg.apps.delphi.web.uploaded_files import UploadLimits, check_lines, classify_files
from gateleg.processes import LimitReached, ProcessLimits, run_limited

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARTS = ("participants", "comments", "choices", "times")
_REFUSALS = (InvertedVotes, MissingColumns, UnreadableFile, UploadTooLarge)
#: The maximum size of the process's output in bytes.
_MOST = 2_000_000_000
_FIX = "Upload smaller files. The operator of the host can raise upload_rows, upload_memory and upload_seconds."


@dataclass(frozen=True)
class ReadRequest:
    """The input of the reading process."""

    files: tuple[str, ...]
    #: the kind of each file; if None, files are recognized by their columns
    kinds: tuple[str, ...] | None
    #: the folder for its output
    folder: str
    conversation: str
    topic: str
    description: str
    scale: int | None
    inverted: bool
    bounds: UploadLimits


async def read_upload(
    files: Sequence[Path],
    folder: Path,
    bounds: UploadLimits,
    conversation: str,
    *,
    topic: str = "",
    description: str = "",
    scale: int | None = None,
    inverted: bool = False,
    kinds: Sequence[str] | None = None,
) -> Conversation:
    """Read a conversation from files, whose `kinds` are recognized by their columns if not given.

    Raises the errors of reading, and `UploadTooLarge` if reading takes too much memory or time.
    """
    known = None if kinds is None else tuple(kinds)
    reading = ReadRequest(tuple(map(str, files)), known, str(folder), conversation, topic, description, scale, inverted, bounds)
    limits = ProcessLimits(bounds.seconds, bounds.memory, _MOST)
    imports = ["gateleg.apps.delphi.conversations.exports", "numpy"]
    try:
        problems = await run_limited(f"{__name__}:read_in_process", asdict(reading), limits, refusals=_REFUSALS, imports=imports)
    except LimitReached as reached:
        if reached.limit == "seconds":
            raise UploadTooLarge(f"The files cannot be read within {bounds.seconds:g} seconds.", fix=_FIX) from None
        raise UploadTooLarge(f"The files cannot be read with {bounds.memory:,} bytes of memory.", fix=_FIX) from None
    if problems is not None:
        raise UnreadableRows([Problem(**one) for one in problems["problems"]], problems["count"])
    return await asyncio.to_thread(_load_result, folder)


def _load_result(folder: Path) -> Conversation:
    """Load the output of the process."""
    import numpy as np

    from gateleg.apps.delphi.conversations.votes import Votes

    output = json.loads((folder / "read.json").read_bytes())
    with np.load(folder / "votes.npz", allow_pickle=False) as arrays:
        votes = Votes(*(arrays[name] for name in _PARTS))
    comments = [
        Comment(**one | {"created_at": None if one["created_at"] is None else datetime.fromisoformat(one["created_at"])})
        for one in output.pop("comments")
    ]
    return Conversation(votes=votes, comments=comments, **output | {"removed_participants": frozenset(output["removed_participants"])})


def read_in_process(asked: dict[str, Any]) -> dict[str, Any] | None:
    """Read files and write the result into the folder of the request. Runs in the process of `read_upload`.

    Rows that cannot be read are returned, because their error has structured details.
    """
    reading = ReadRequest(**asked | {"bounds": UploadLimits(**asked["bounds"])})
    try:
        found = _read(reading)
    except UnreadableRows as error:
        return {"count": error.count, "problems": [asdict(problem) for problem in error.problems]}
    (Path(reading.folder) / "read.json").write_text(json.dumps(found), encoding="utf-8")
    return None


def _read(reading: ReadRequest) -> dict[str, Any]:
    """Read the files, write the votes into the folder, and return everything else."""
    import numpy as np

    folder = Path(reading.folder)
    files = [Path(name) for name in reading.files]
    if reading.kinds is None:
        received = classify_files(files, folder, reading.bounds)
    else:
        received = ConversationFiles(**dict(zip(reading.kinds, files, strict=True)))
        for path in files:
            check_lines(path, reading.bounds.rows)
    read = read_conversation(received, reading.conversation, reading.topic, reading.description, reading.scale, reading.inverted)
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

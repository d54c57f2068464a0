"""Files of a conversation as they are sent: told apart by what is in them, whatever they are called, and read whole or not at all."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from gateleg.apps.delphi.conversations.csv_reader import column, delimiter_of, open_text
from gateleg.apps.delphi.conversations.worksheets import is_workbook
from gateleg.apps.delphi.errors import UnreadableFile, UploadTooLarge
from gateleg.objects import ArchiveBounds, ArchiveRefused, ArchiveTooLarge, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gateleg.apps.delphi.conversations.conversation import Conversation
    from gateleg.web.settings import Settings

#: What the rows of a summary begin with.
_SUMMARY = {"topic", "url", "voters", "voters-in-conv", "commenters", "comments", "groups", "conversation-description"}
_CHUNK = 1 << 20


@dataclass(frozen=True)
class UploadLimits:
    """What one upload may hold, and what reading it may cost."""

    #: lines of one file
    rows: int = 5_000_000
    #: files of an archive
    files: int = 100
    #: how many times larger than packed an archive may be, beyond some megabytes
    ratio: int = 100
    #: bytes of memory and seconds
    memory: int = 2_000_000_000
    seconds: float = 120.0

    @classmethod
    def of(cls, settings: Settings) -> UploadLimits:
        """The bounds of a host's settings."""
        return cls(
            rows=settings.upload_rows,
            ratio=settings.upload_ratio,
            memory=settings.upload_memory,
            seconds=settings.upload_seconds,
        )


@dataclass(frozen=True)
class UploadedFiles:
    """The files of one conversation by what they are; those that the analysis does not read are left out."""

    votes: Path | None = None
    comments: Path | None = None
    #: a spreadsheet of statements and answers, in the place of votes; comments have its texts where its columns are numbers
    answers: Path | None = None
    flags: Path | None = None
    participants: Path | None = None
    summary: Path | None = None


def classify_files(files: Sequence[Path], folder: Path, bounds: UploadLimits) -> UploadedFiles:
    """The files by what is in them. Archives are unpacked into `folder`; `UnreadableFile` when votes or comments are missing or twice
    there, and for a file that is none of them. Without votes, a file that is nothing else is a spreadsheet of answers."""
    found: dict[str, Path] = {}
    for part, packed in _parts(files, folder, bounds):
        kind = kind_of(part)
        if kind in {"other", None} and packed:
            continue
        kind = kind or "unknown"
        if kind in found and kind != "other":
            raise UnreadableFile(
                f"Both {found[kind].name} and {part.name} are {_called(kind)}.", fix="Send one of each; nothing was loaded."
            )
        found[kind] = part
    answers = {kind: found.pop(kind) for kind in ("answers", "matrix", "unknown") if kind in found}
    found.pop("other", None)
    if "votes" in found:
        # The matrix of an export says what its votes say.
        answers.pop("matrix", None)
        for part in answers.values():
            _refuse(part)
        _require(found, "comments", "comment-id and comment-body")
        return UploadedFiles(**found)
    if len(answers) > 1:
        _refuse(list(answers.values())[-1])
    if not answers:
        _require(found, "votes", "voter-id, comment-id and vote")
    return UploadedFiles(**found, answers=next(iter(answers.values())))


def _parts(files: Sequence[Path], folder: Path, bounds: UploadLimits) -> Iterator[tuple[Path, bool]]:
    """All files, those in archives as well, each with whether it comes from one."""
    for path in files:
        if zipfile.is_zipfile(path) and not is_workbook(path):
            yield from ((part, True) for part in _unpacked(path, folder / f"{path.parent.name}.d", bounds))
        else:
            check_lines(path, bounds.rows)
            yield path, False


def _called(kind: str) -> str:
    return {"answers": "spreadsheets", "unknown": "none of the files of an export"}.get(kind, f"files of {kind}")


def _require(found: Mapping[str, Path], kind: str, columns: str) -> None:
    if kind not in found:
        raise UnreadableFile(f"There is no file of {kind} among what was sent.", fix=f"It is the one with the columns {columns}.")


def _refuse(part: Path) -> NoReturn:
    if not is_workbook(part):
        with open_text(part) as file:
            file.read(100_000)
    raise UnreadableFile(
        f"{part.name} is none of the files of a conversation: its first line has no columns of one.",
        fix="Send votes.csv and comments.csv of one export, with flags or moderated participants if there are any; or one spreadsheet.",
    )


def kind_of(path: Path) -> str | None:
    """What a file is by the columns of its first line; `other` is what exports have beside, None what is nothing that is known."""
    if is_workbook(path):
        return "answers"
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            lines = iter(lambda: file.readline(100_000), "")
            line = next((line for line in lines if line.strip()), "")
            first = next(csv.reader([line], delimiter=delimiter_of(line)), [])
    except csv.Error:
        return None
    titles = set(map(column, first))
    if _is_beside(titles) or line.startswith("{"):
        return "other"
    if "comment-body" in titles:
        return "comments"
    if {"participant", "group-id"} <= titles:
        return "matrix"
    if {"voter-id", "vote"} <= titles:
        return "votes"
    if {"voter-id", "moderated"} <= titles:
        return "participants"
    if {"comment-id", "is-meta"} <= titles or titles == {"comment-id", "moderated"}:
        return "flags"
    return "summary" if first and first[0].strip() in _SUMMARY else None


def _is_beside(titles: set[str]) -> bool:
    """Whether columns are those of a file of an export that says nothing new: counts by group, topics, or what people found important."""
    clusters = "comment-body" in titles and any(title.startswith("layer") for title in titles)
    return clusters or "n-important" in titles or {"comment-id", "total-votes"} <= titles


def _unpacked(path: Path, folder: Path, bounds: UploadLimits) -> Iterable[Path]:
    """The CSV files of an archive, each under its own name."""
    counts: dict[Path, LineCounter] = {}

    def count(target: Path, chunk: bytes) -> None:
        counts.setdefault(target, LineCounter(target.name, bounds.rows)).count(chunk)

    try:
        found = unpack(
            path,
            folder,
            ArchiveBounds(files=bounds.files, ratio=bounds.ratio),
            wanted=lambda name: name.lower().endswith(".csv"),
            on_chunk=count,
        )
    except ArchiveTooLarge as error:
        raise UploadTooLarge(error.message, fix="Send the CSV files themselves; nothing was loaded.") from None
    except (ArchiveRefused, OSError) as error:
        raise UnreadableFile(
            f"{path.name} cannot be unpacked: {error}.", fix="Send the CSV files themselves; nothing was loaded."
        ) from None
    return [one.path for one in found]


class LineCounter:
    """Counts the lines of a file as it comes in, and raises `UploadTooLarge` when there are too many."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._found = 0

    def count(self, chunk: bytes) -> None:
        """Count those of the next bytes; a line may end in either sign, or in both."""
        self._found += chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n")
        # The last line may have no end, and the first is the header.
        if self._found > self._most + 1:
            raise UploadTooLarge(f"{self._name} has more than {self._most:,} lines.")


def check_lines(path: Path, most: int) -> None:
    """Refuse a file with too many lines, before anything is made of them."""
    lines = LineCounter(path.name, most)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            lines.count(chunk)


def read_conversation(
    received: UploadedFiles, conversation_id: str, topic: str = "", description: str = "", scale: int | None = None, inverted: bool = False
) -> Conversation:
    """The conversation that was sent. What is not said of it comes from the summary, if there is one.

    `scale` is how many points the answers of a spreadsheet have, `inverted` whether a vote of -1 agrees.
    """
    from gateleg.apps.delphi.conversations.exports import read_export, read_texts
    from gateleg.apps.delphi.conversations.spreadsheet import read_spreadsheet

    if received.answers is not None:
        texts = None if received.comments is None else read_texts(received.comments)
        read = read_spreadsheet(received.answers, scale=scale, comments=texts, conversation_id=conversation_id)
        return replace(read, topic=topic, description=description)
    assert received.votes is not None
    assert received.comments is not None
    read = read_export(
        received.votes,
        received.comments,
        summary=received.summary,
        flags=received.flags,
        participants=received.participants,
        conversation_id=conversation_id,
        inverted=inverted,
    )
    return replace(read, topic=topic or read.topic, description=description or read.description)

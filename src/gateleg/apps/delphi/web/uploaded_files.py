"""Recognizes the uploaded files of a conversation by their content, and reads them completely or not at all."""

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

#: The first cells of a summary's rows.
_SUMMARY = {"topic", "url", "voters", "voters-in-conv", "commenters", "comments", "groups", "conversation-description"}
_CHUNK = 1 << 20


@dataclass(frozen=True)
class UploadLimits:
    """The limits of one upload and of reading it."""

    #: lines per file
    rows: int = 5_000_000
    #: files per archive
    files: int = 100
    #: the compression ratio of an archive, beyond some megabytes
    ratio: int = 100
    #: bytes of memory, and seconds, for reading
    memory: int = 2_000_000_000
    seconds: float = 120.0

    @classmethod
    def of(cls, settings: Settings) -> UploadLimits:
        """The limits in a host's settings."""
        return cls(
            rows=settings.upload_rows,
            ratio=settings.upload_ratio,
            memory=settings.upload_memory,
            seconds=settings.upload_seconds,
        )


@dataclass(frozen=True)
class UploadedFiles:
    """The files of one conversation by kind, without files that the analysis does not need."""

    votes: Path | None = None
    comments: Path | None = None
    #: a spreadsheet of answers instead of votes; if its columns are comment ids, `comments` has the texts
    answers: Path | None = None
    flags: Path | None = None
    participants: Path | None = None
    summary: Path | None = None


def classify_files(files: Sequence[Path], folder: Path, bounds: UploadLimits) -> UploadedFiles:
    """Recognize files by their content. Archives are unpacked into `folder`. Without votes, a file of no other kind is a spreadsheet of
    answers. Raises `UnreadableFile` if votes or comments are missing or given twice, and for files of an unknown kind."""
    found: dict[str, Path] = {}
    for part, packed in _parts(files, folder, bounds):
        kind = kind_of(part)
        if kind in {"other", None} and packed:
            continue
        kind = kind or "unknown"
        if kind in found and kind != "other":
            raise UnreadableFile(
                f"Both {found[kind].name} and {part.name} are {_describe(kind)}.", fix="Send only one of each kind; nothing was loaded."
            )
        found[kind] = part
    answers = {kind: found.pop(kind) for kind in ("answers", "matrix", "unknown") if kind in found}
    found.pop("other", None)
    if "votes" in found:
        # The matrix of an export has the same votes.
        answers.pop("matrix", None)
        for part in answers.values():
            _refuse_unknown(part)
        _require(found, "comments", "comment-id and comment-body")
        return UploadedFiles(**found)
    if len(answers) > 1:
        _refuse_unknown(list(answers.values())[-1])
    if not answers:
        _require(found, "votes", "voter-id, comment-id and vote")
    return UploadedFiles(**found, answers=next(iter(answers.values())))


def _parts(files: Sequence[Path], folder: Path, bounds: UploadLimits) -> Iterator[tuple[Path, bool]]:
    """All files, including those in archives, each with whether it comes from an archive."""
    for path in files:
        if zipfile.is_zipfile(path) and not is_workbook(path):
            yield from ((part, True) for part in _unpack_csv(path, folder / f"{path.parent.name}.d", bounds))
        else:
            check_lines(path, bounds.rows)
            yield path, False


def _describe(kind: str) -> str:
    return {"answers": "spreadsheets", "unknown": "not files of an export"}.get(kind, f"files of {kind}")


def _require(found: Mapping[str, Path], kind: str, columns: str) -> None:
    if kind not in found:
        raise UnreadableFile(f"The file of {kind} is missing.", fix=f"Also send the file with the columns {columns}.")


def _refuse_unknown(part: Path) -> NoReturn:
    if not is_workbook(part):
        with open_text(part) as file:
            file.read(100_000)
    raise UnreadableFile(
        f"{part.name} is not a file of a conversation: its first line has none of the expected columns.",
        fix="Send votes.csv and comments.csv of one export, optionally with flags and moderated participants; or one spreadsheet.",
    )


def kind_of(path: Path) -> str | None:
    """The kind of a file, judged by the columns in its first line: `other` for files of an export that are not needed, None if unknown."""
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
    if _is_not_needed(titles) or line.startswith("{"):
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


def _is_not_needed(titles: set[str]) -> bool:
    """Whether columns are those of a derived file of an export: counts by group, topics, or importance."""
    clusters = "comment-body" in titles and any(title.startswith("layer") for title in titles)
    return clusters or "n-important" in titles or {"comment-id", "total-votes"} <= titles


def _unpack_csv(path: Path, folder: Path, bounds: UploadLimits) -> Iterable[Path]:
    """Unpack the CSV files of an archive, keeping their names."""
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
    """Counts the lines of a file while it is received, and raises `UploadTooLarge` if there are too many."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._found = 0

    def count(self, chunk: bytes) -> None:
        """Count the lines in the next bytes. Lines end with CR, LF or both."""
        self._found += chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n")
        # The header is not counted, and the last line may lack an end.
        if self._found > self._most + 1:
            raise UploadTooLarge(f"{self._name} has more than {self._most:,} lines.")


def check_lines(path: Path, most: int) -> None:
    """Refuse a file with too many lines before parsing it."""
    lines = LineCounter(path.name, most)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            lines.count(chunk)


def read_conversation(
    received: UploadedFiles, conversation_id: str, topic: str = "", description: str = "", scale: int | None = None, inverted: bool = False
) -> Conversation:
    """Read the conversation. The topic and description default to those in the summary.

    The answers of a spreadsheet are from 1 to `scale`; `inverted` means that a vote of -1 is agreement.
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

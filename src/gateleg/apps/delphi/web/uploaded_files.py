"""Recognizes the uploaded files of a conversation by their content, and unpacks archives of them within limits."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from gateleg.apps.delphi.conversations.csv_reader import open_text
from gateleg.apps.delphi.conversations.files import ConversationFiles, kind_of
from gateleg.apps.delphi.conversations.worksheets import is_workbook
from gateleg.apps.delphi.errors import UnreadableFile, UploadTooLarge
from gateleg.objects import ArchiveBounds, ArchiveRefused, ArchiveTooLarge, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gateleg.host.settings import Settings

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


def classify_files(files: Sequence[Path], folder: Path, bounds: UploadLimits) -> ConversationFiles:
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
        return ConversationFiles(**found)
    if len(answers) > 1:
        _refuse_unknown(list(answers.values())[-1])
    if not answers:
        _require(found, "votes", "voter-id, comment-id and vote")
    return ConversationFiles(**found, answers=next(iter(answers.values())))


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

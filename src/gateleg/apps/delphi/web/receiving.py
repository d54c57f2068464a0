"""Files of a conversation as they are sent: told apart by what is in them, whatever they are called, and read whole or not at all."""

from __future__ import annotations

import csv
import zipfile
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.apps.delphi.conversations.reading import column, opened
from gateleg.apps.delphi.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from gateleg.apps.delphi.conversations.conversation import Conversation

#: What an archive may hold: so many files, and so many bytes once unpacked.
MOST_FILES, MOST_BYTES = 100, 2_000_000_000
#: What the rows of a summary begin with.
_SUMMARY = {"topic", "url", "voters", "voters-in-conv", "commenters", "comments", "groups", "conversation-description"}
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Received:
    """The files of one conversation by what they are; those that the analysis does not read are left out."""

    votes: Path
    comments: Path
    flags: Path | None = None
    participants: Path | None = None
    summary: Path | None = None


def told_apart(files: Sequence[Path], folder: Path) -> Received:
    """The files by what is in them. Archives are unpacked into `folder`; `UnreadableFile` when votes or comments are missing or twice
    there, and for a file that is none of them."""
    found: dict[str, Path] = {}
    for path in files:
        archive = zipfile.is_zipfile(path)
        for part in _unpacked(path, folder / f"{path.parent.name}.d") if archive else [path]:
            kind = kind_of(part)
            if kind is None and not archive:
                with opened(part) as file:
                    file.read(100_000)
                fix = "Send votes.csv and comments.csv of one export, and flags or moderated participants if there are any."
                raise UnreadableFile(f"{part.name} is none of the files of a conversation: its first line has no columns of one.", fix=fix)
            if kind in found:
                raise UnreadableFile(
                    f"Both {found[kind].name} and {part.name} are files of {kind}.", fix="Send one of each; nothing was loaded."
                )
            if kind is not None:
                found[kind] = part
    for kind, columns in (("votes", "voter-id, comment-id and vote"), ("comments", "comment-id and comment-body")):
        if kind not in found:
            raise UnreadableFile(f"There is no file of {kind} among what was sent.", fix=f"It is the one with the columns {columns}.")
    return Received(**found)


def kind_of(path: Path) -> str | None:
    """What a file is by the columns of its first line; None when it is nothing of a conversation."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            lines = iter(lambda: file.readline(100_000), "")
            first = next(csv.reader([next((line for line in lines if line.strip()), "")]), [])
    except csv.Error:
        return None
    titles = set(map(column, first))
    if "comment-body" in titles:
        return "comments"
    if {"voter-id", "vote"} <= titles:
        return "votes"
    if {"voter-id", "moderated"} <= titles:
        return "participants"
    if {"comment-id", "is-meta"} <= titles or titles == {"comment-id", "moderated"}:
        return "flags"
    return "summary" if first and first[0].strip() in _SUMMARY else None


def _unpacked(path: Path, folder: Path) -> Iterable[Path]:
    """The CSV files of an archive, each written under its own name; paths inside of it do not matter."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir() and entry.filename.lower().endswith(".csv")]
            if len(entries) > MOST_FILES:
                raise UnreadableFile(
                    f"{path.name} has {len(entries):,} files.", fix=f"At most {MOST_FILES} are looked at; nothing was loaded."
                )
            found: list[Path] = []
            for number, entry in enumerate(entries):
                left = MOST_BYTES - sum(one.stat().st_size for one in found)
                found.append(_unpack(archive, entry, folder / str(number), left))
            return found
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, OSError) as error:
        raise UnreadableFile(
            f"{path.name} cannot be unpacked: {error}.", fix="Send the CSV files themselves; nothing was loaded."
        ) from None


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, most: int) -> Path:
    folder.mkdir(parents=True)
    target = folder / plain_name(entry.filename)
    written = 0
    with archive.open(entry) as source, target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > most:
                raise UnreadableFile(f"Unpacked, the archive is larger than {MOST_BYTES:,} bytes.", fix="Nothing was loaded.")
            file.write(chunk)
    return target


def plain_name(name: str) -> str:
    """The last part of a name that somebody sent, fit for a file."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign if sign.isprintable() else "_" for sign in last)[-100:].lstrip(".") or "file"


def read_received(received: Received, conversation_id: str, topic: str = "", description: str = "") -> Conversation:
    """The conversation that was sent. What is not said of it comes from the summary, if there is one."""
    from gateleg.apps.delphi.conversations.exports import read_export

    read = read_export(
        received.votes,
        received.comments,
        summary=received.summary,
        flags=received.flags,
        participants=received.participants,
        conversation_id=conversation_id,
    )
    return replace(read, topic=topic or read.topic, description=description or read.description)

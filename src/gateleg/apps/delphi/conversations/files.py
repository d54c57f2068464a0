"""The files of a conversation: what kind each is, and the one reader of them for commands, the API and the console.

    conversation = read_conversation(ConversationFiles(answers=Path("participants-votes.csv"), comments=Path("comments.csv")))

Whatever the format of the votes, the other files have the same effect: rejected and meta comments, excluded participants, authors, times
and comments that nobody voted on are all carried.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.apps.delphi.conversations.csv_reader import column, delimiter_of
from gateleg.apps.delphi.conversations.worksheets import is_workbook

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.delphi.conversations.conversation import Conversation

#: The first cells of a summary's rows.
_SUMMARY = {"topic", "url", "voters", "voters-in-conv", "commenters", "comments", "groups", "conversation-description"}


@dataclass(frozen=True)
class ConversationFiles:
    """The files of one conversation by kind, without files that the analysis does not need. It has votes or answers."""

    votes: Path | None = None
    comments: Path | None = None
    #: a spreadsheet of answers instead of votes; if its columns are comment ids, `comments` has the texts
    answers: Path | None = None
    flags: Path | None = None
    participants: Path | None = None
    summary: Path | None = None

    @classmethod
    def of(
        cls,
        table: Path,
        comments: Path | None = None,
        *,
        flags: Path | None = None,
        participants: Path | None = None,
        summary: Path | None = None,
    ) -> ConversationFiles:
        """The files around a table of votes: one row per vote, or one row per person and one column per statement."""
        votes = comments is not None and _has_votes_in_rows(table)
        return cls(table if votes else None, comments, None if votes else table, flags, participants, summary)


def read_conversation(
    files: ConversationFiles,
    conversation_id: str | None = None,
    topic: str = "",
    description: str = "",
    scale: int | None = None,
    inverted: bool = False,
) -> Conversation:
    """Read the conversation. The topic and description default to those in the summary, the id to its address or the name of a file.

    The answers of a spreadsheet are from 1 to `scale`; `inverted` means that a vote of -1 is agreement.
    """
    from gateleg.apps.delphi.conversations.exports import read_export
    from gateleg.apps.delphi.conversations.spreadsheet import read_spreadsheet

    if files.votes is not None:
        assert files.comments is not None
        read = read_export(
            files.votes,
            files.comments,
            flags=files.flags,
            participants=files.participants,
            summary=files.summary,
            conversation_id=conversation_id,
            inverted=inverted,
        )
    else:
        assert files.answers is not None
        read = read_spreadsheet(
            files.answers,
            comments=files.comments,
            flags=files.flags,
            participants=files.participants,
            summary=files.summary,
            conversation_id=conversation_id,
            inverted=inverted,
            scale=scale,
        )
    return replace(read, topic=topic or read.topic, description=description or read.description)


def kind_of(path: Path) -> str | None:
    """The kind of a file, judged by the columns in its first line: `other` for files of an export that are not needed, None if unknown."""
    if is_workbook(path):
        return "answers"
    line, first = _first_row(path)
    if not first:
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


def _first_row(path: Path) -> tuple[str, list[str]]:
    """The first line of a CSV file that is not blank, and its cells; none if it cannot be parsed."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = iter(lambda: file.readline(100_000), "")
        line = next((line for line in lines if line.strip()), "")
    try:
        return line, next(csv.reader([line], delimiter=delimiter_of(line)), [])
    except csv.Error:
        return line, []


def _has_votes_in_rows(path: Path) -> bool:
    """Whether a file is, or was meant to be, `votes.csv`: a column is missing from it, or it cannot be opened."""
    try:
        return not is_workbook(path) and not {"voter-id", "comment-id", "vote"}.isdisjoint(map(column, _first_row(path)[1]))
    except OSError:
        return True

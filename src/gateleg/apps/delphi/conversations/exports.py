"""Reads the files of a Polis export as a conversation: `read_export(votes, comments, summary=..., flags=...)`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.csv_reader import Problems, flag, header, milliseconds, one_of, open_text, records, whole_number
from gateleg.apps.delphi.conversations.votes import Choice, Votes
from gateleg.apps.delphi.errors import InvertedVotes, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_VOTE_COLUMNS = {
    "timestamp": "when the vote was cast",
    "comment-id": "which comment was voted on",
    "voter-id": "who voted",
    "vote": "1 agree, -1 disagree, 0 pass",
}
_COMMENT_COLUMNS = {"comment-id": "the id of the comment", "comment-body": "its text"}
_FLAG_COLUMNS = {"comment-id": "the id of the comment"}
_PARTICIPANT_COLUMNS = {"voter-id": "the id of the participant", "moderated": "-1 excludes the participant"}
_read_choice = one_of(*Choice)
_read_moderation = one_of(-1, 0, 1)
_LATEST = 253_402_300_799_000
#: The maximum length of the topic and the description in characters; longer ones in a summary are truncated.
LONGEST_TOPIC, LONGEST_DESCRIPTION = 1_000, 20_000
#: The counts in an export may differ from its votes by this share, because of moderation and late votes.
_TOLERANCE = 0.1
#: The maximum size of a comment in bytes: far more than anybody writes, and far less than an item of the store holds.
_LONGEST_COMMENT = 100_000


def read_export(
    votes: Path,
    comments: Path,
    *,
    summary: Path | None = None,
    flags: Path | None = None,
    participants: Path | None = None,
    conversation_id: str | None = None,
    batch_size: int = 50_000,
    inverted: bool = False,
) -> Conversation:
    """Read a conversation from the files of an export.

    `flags` supplies what exports leave out: `comment-id` with `is-meta` and `moderated`. `participants` has `voter-id` and `moderated`.
    Votes are read `batch_size` rows at a time. If rows cannot be read, `UnreadableRows` lists them and nothing is loaded.

    A vote of 1 agrees and one of -1 disagrees, unless `inverted`. `InvertedVotes` is raised if the columns `agrees` and `disagrees` of the
    comments, or the row `vote-convention` of a newer summary, contradict this.
    """
    problems = Problems()
    described = read_description(comments, flags, participants, summary, problems)
    cast = _read_votes(votes, problems, batch_size)
    problems.check()
    return described.with_votes(cast, votes, votes.resolve().parent.name, conversation_id, inverted)


@dataclass(frozen=True, slots=True)
class Description:
    """What the files of a conversation say about it beside the votes. Every format of votes is read together with one."""

    #: the name of the file that the comments are from
    source: str
    comments: Mapping[int, Comment]
    #: how many agreed and disagreed with a comment according to the file, by comment id
    counts: Mapping[int, tuple[int, int]]
    removed_participants: frozenset[int]
    summary: Mapping[str, str]

    def with_votes(self, cast: Votes, votes: Path, name: str, conversation_id: str | None, inverted: bool) -> Conversation:
        """The conversation with votes from a file, called `name` if neither an id nor the summary says how."""
        about = dict(self.summary)
        _check_declared(about.get("vote-convention", ""), votes.name, inverted)
        _check_known(cast, self.comments, votes.name, self.source)
        cast = replace(cast, choices=-cast.choices) if inverted else cast
        _check_signs(cast, self.counts, votes.name, self.source, inverted)
        return Conversation(
            conversation_id or about.get("url", "").rstrip("/").rpartition("/")[2] or name,
            cast,
            [self.comments[number] for number in sorted(self.comments)],
            topic=_truncate(about.pop("topic", ""), LONGEST_TOPIC),
            description=_truncate(about.pop("conversation-description", ""), LONGEST_DESCRIPTION),
            removed_participants=self.removed_participants,
            summary=about,
        )


def read_description(
    comments: Path | Mapping[int, Comment], flags: Path | None, participants: Path | None, summary: Path | None, problems: Problems
) -> Description:
    """Read the files beside the votes. `comments` are already known if they are the columns of a spreadsheet. Rows that cannot be read are
    added to `problems`."""
    counts: dict[int, tuple[int, int]] = {}
    found = _read_comments(comments, problems, counts) if isinstance(comments, Path) else dict(comments)
    if flags is not None:
        _apply_flags(flags, found, problems)
    return Description(
        comments.name if isinstance(comments, Path) else "the first line",
        found,
        counts,
        frozenset() if participants is None else _read_participants(participants, problems),
        {} if summary is None else read_summary(summary),
    )


def _truncate(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def read_summary(path: Path) -> dict[str, str]:
    """The key-value rows of a summary file, which has no header. A value may hold commas and several lines."""
    with open_text(path) as file:
        return {row[0].strip(): ",".join(row[1:]).strip() for _, row in records(file, path.name)}


def _read_votes(path: Path, problems: Problems, batch_size: int) -> Votes:
    parts: list[Votes] = []
    with open_text(path) as file:
        rows = records(file, path.name)
        places = header(rows, path.name, _VOTE_COLUMNS)
        wanted = [places[title] for title in ("voter-id", "comment-id", "vote", "timestamp")]
        while batch := list(islice(rows, batch_size)):
            parts.append(_batch_at_once(batch, wanted) or _batch_row_by_row(batch, wanted, path.name, problems))
    if not parts:
        return Votes.of([])
    return Votes(
        np.concatenate([part.participants for part in parts]),
        np.concatenate([part.comments for part in parts]),
        np.concatenate([part.choices for part in parts]),
        np.concatenate([part.times for part in parts]),
    )


def _batch_at_once(batch: list[tuple[int, list[str]]], wanted: list[int]) -> Votes | None:
    """Convert a batch column by column, which is fast. Returns None if any value is unusual."""
    try:
        people, comments, choices, times = (np.array([int(row[place]) for _, row in batch], dtype=np.int64) for place in wanted)
    except (ValueError, IndexError, OverflowError):
        return None
    sound = (people >= 0).all() and (comments >= 0).all() and (np.abs(choices) <= 1).all() and (times >= 0).all()
    seconds = times < 10**11
    times = np.where(seconds, times * 1000, times)
    return Votes(people, comments, choices.astype(np.int8), times) if sound and (times <= _LATEST).all() else None


def _batch_row_by_row(batch: list[tuple[int, list[str]]], wanted: list[int], name: str, problems: Problems) -> Votes:
    person, comment, choice, time = wanted
    found = []
    for line, row in batch:
        try:
            found.append(
                (
                    _identifier(row[person], "voter-id"),
                    _identifier(row[comment], "comment-id"),
                    _read_choice(row[choice], "vote"),
                    _time(row[time], "timestamp"),
                )
            )
        except IndexError:
            problems.add(name, line, f"it has {len(row)} columns; at least {max(wanted) + 1} are needed")
        except ValueError as error:
            problems.add(name, line, str(error))
    return Votes.of(found)


def _read_comments(path: Path, problems: Problems, counts: dict[int, tuple[int, int]]) -> dict[int, Comment]:
    """Read the comments by id, and add to `counts` how many agreed and disagreed with each according to the file."""
    found: dict[int, Comment] = {}
    for line, row in _rows(path, _COMMENT_COLUMNS, problems):
        try:
            comment = _comment(row)
        except ValueError as error:
            problems.add(path.name, line, str(error))
            continue
        if comment.comment_id in found:
            problems.add(path.name, line, f"comment {comment.comment_id} appears on an earlier line too")
        found[comment.comment_id] = comment
        agrees, disagrees = (row.get(title, "").strip() for title in ("agrees", "disagrees"))
        if agrees.isdecimal() and disagrees.isdecimal():
            counts[comment.comment_id] = int(agrees), int(disagrees)
    return found


def _comment(row: dict[str, str]) -> Comment:
    size = len(row["comment-body"].encode())
    if size > _LONGEST_COMMENT:
        raise ValueError(f"the comment has {size:,} bytes; at most {_LONGEST_COMMENT:,} are allowed")
    author, time, moderated = (row.get(title, "").strip() for title in ("author-id", "timestamp", "moderated"))
    return Comment(
        _identifier(row["comment-id"], "comment-id"),
        row["comment-body"],
        author_id=_identifier(author, "author-id") if author else None,
        created_at=datetime.fromtimestamp(_time(time, "timestamp") / 1000, UTC) if time else None,
        moderated=_read_moderation(moderated, "moderated") if moderated else 0,
        is_meta=flag(row.get("is-meta", ""), "is-meta"),
    )


def _apply_flags(path: Path, comments: dict[int, Comment], problems: Problems) -> None:
    for line, row in _rows(path, _FLAG_COLUMNS, problems):
        try:
            number = _identifier(row["comment-id"], "comment-id")
            if number not in comments:
                raise ValueError(f"there is no comment {number}")
            comment = comments[number]
            moderated = row.get("moderated", "").strip()
            comments[number] = replace(
                comment,
                is_meta=flag(row["is-meta"], "is-meta") if "is-meta" in row else comment.is_meta,
                moderated=_read_moderation(moderated, "moderated") if moderated else comment.moderated,
            )
        except ValueError as error:
            problems.add(path.name, line, str(error))


def _read_participants(path: Path, problems: Problems) -> frozenset[int]:
    removed = set()
    for line, row in _rows(path, _PARTICIPANT_COLUMNS, problems):
        try:
            number = _identifier(row["voter-id"], "voter-id")
            if _read_moderation(row["moderated"] or "0", "moderated") == -1:
                removed.add(number)
        except ValueError as error:
            problems.add(path.name, line, str(error))
    return frozenset(removed)


def _rows(path: Path, needed: dict[str, str], problems: Problems) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows as dictionaries. Rows that lack a needed column are added to `problems`."""
    with open_text(path) as file:
        rows = records(file, path.name)
        places = header(rows, path.name, needed)
        last = max(places[title] for title in needed)
        for line, row in rows:
            if len(row) <= last:
                problems.add(path.name, line, f"it has {len(row)} columns; at least {last + 1} are needed")
            elif len(row) > len(places):
                problems.add(path.name, line, f"it has {len(row)} columns, the header {len(places)}: put texts with commas in quotes")
            else:
                yield line, {title: row[place] for title, place in places.items() if place < len(row)}


def _identifier(text: str, title: str) -> int:
    number = whole_number(text, title)
    if not 0 <= number < 2**53:
        raise ValueError(f"{title} is {number}; it must be at least 0 and less than 2^53")
    return number


def _time(text: str, title: str) -> int:
    time = milliseconds(text, title)
    if time > _LATEST:
        raise ValueError(f"{title} is {text}, after the year 9999")
    return time


def _check_known(votes: Votes, comments: Mapping[int, Comment], votes_name: str, comments_name: str) -> None:
    known = np.fromiter(comments, dtype=np.int64)
    unknown = np.unique(votes.comments[~np.isin(votes.comments, known)])
    if len(unknown):
        listed = ", ".join(map(str, unknown[:10].tolist()))
        raise UnreadableFile(
            f"{votes_name} has votes on {len(unknown):,} comments that are not in {comments_name}: {listed}.",
            fix="Use both files from the same export; nothing was loaded.",
        )


def _check_declared(convention: str, votes_name: str, inverted: bool) -> None:
    """Refuse votes if the export declares the other sign, as in `agree=+1;disagree=-1;pass=0`."""
    parts = dict(part.strip().split("=", 1) for part in convention.split(";") if "=" in part)
    declared = {"1": False, "+1": False, "-1": True}.get(parts.get("agree", "").strip())
    if declared is not None and declared != inverted:
        raise InvertedVotes(
            f"The summary declares that {parts['agree']} means agreement in {votes_name}.",
            fix="Read the votes inverted (inverted=true; --inverted on the command line)."
            if declared
            else "Read the votes without inverting them.",
        )


def _check_signs(votes: Votes, counts: Mapping[int, tuple[int, int]], votes_name: str, comments_name: str, inverted: bool) -> None:
    """Refuse votes whose signs contradict the counts in the comments file."""
    agreed, disagreed = (Counter(votes.comments[votes.choices == choice].tolist()) for choice in (Choice.AGREE, Choice.DISAGREE))
    straight = sum(abs(agrees - agreed[number]) + abs(disagrees - disagreed[number]) for number, (agrees, disagrees) in counts.items())
    crossed = sum(abs(agrees - disagreed[number]) + abs(disagrees - agreed[number]) for number, (agrees, disagrees) in counts.items())
    total = sum(agrees + disagrees for agrees, disagrees in counts.values())
    if crossed < straight and crossed <= _TOLERANCE * total:
        raise InvertedVotes(
            f"The votes in {votes_name} have the opposite sign: according to the columns agrees and disagrees of {comments_name}, "
            f"-1 means {'disagreement, as usual' if inverted else 'agreement'}.",
            fix="Read the votes without inverting them."
            if inverted
            else "Read the votes inverted (inverted=true; --inverted on the command line), or change their signs.",
        )

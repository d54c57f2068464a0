"""Reads a spreadsheet as a conversation: one row per person, one column per statement, answers in the cells.

    conversation = read_spreadsheet(Path("answers.csv"), scale=5)

Answers are words (agree, disagree, pass, also strongly or somewhat), -1, 0 and 1, or points on a scale such as a Likert scale from 1 to 5:
points above the middle agree, points below it disagree, and the middle passes. An empty cell is not an answer. The columns that
`participant-votes.csv` of Polis has beside the votes are ignored; if the columns are comment ids, another file has the texts.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from gateleg.apps.delphi.conversations.conversation import Comment
from gateleg.apps.delphi.conversations.csv_reader import Problems, column
from gateleg.apps.delphi.conversations.exports import read_description
from gateleg.apps.delphi.conversations.votes import Choice, Votes
from gateleg.apps.delphi.conversations.worksheets import sheet_rows
from gateleg.apps.delphi.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from gateleg.apps.delphi.conversations.conversation import Conversation

#: Columns that are not statements: people, times, and the counts of Polis.
_PEOPLE = ("participant", "respondent", "person", "user", "voter-id", "id", "name", "e-mail", "email", "email address", "username")
_PEOPLE_IDS = ("participant id", "respondent id", "person id", "user id", "response id", "participant-id", "respondent-id", "user-id")
_TIMES = ("timestamp", "time", "date", "datetime", "start time", "completion time", "submitted")
_COUNTS = ("group-id", "n-comments", "n-votes", "n-agree", "n-disagree", "n-pass", "xid")
#: Answers in a few languages; adverbs of degree are removed from English ones first.
_WORDS = {
    **dict.fromkeys(("agree", "yes", "y", "true", "for", "support", "like"), Choice.AGREE),
    **dict.fromkeys(("disagree", "no", "n", "false", "against", "oppose", "dislike"), Choice.DISAGREE),
    **dict.fromkeys(
        ("pass", "neutral", "unsure", "undecided", "skip", "don't know", "do not know", "dont know", "no opinion"), Choice.PASS
    ),
    **dict.fromkeys(("neither", "neither agree nor disagree", "n/a", "na", "not applicable", "prefer not to say", "mixed"), Choice.PASS),
    **dict.fromkeys(("ja", "stimme zu", "stimme eher zu", "stimme voll zu", "stimme voll und ganz zu", "stimme völlig zu"), Choice.AGREE),
    **dict.fromkeys(("trifft zu", "trifft eher zu", "trifft voll zu", "trifft voll und ganz zu", "dafür"), Choice.AGREE),
    **dict.fromkeys(
        ("nein", "stimme nicht zu", "stimme eher nicht zu", "stimme gar nicht zu", "stimme überhaupt nicht zu"), Choice.DISAGREE
    ),
    **dict.fromkeys(("trifft nicht zu", "trifft eher nicht zu", "trifft gar nicht zu", "lehne ab", "dagegen"), Choice.DISAGREE),
    **dict.fromkeys(("weiß nicht", "weiss nicht", "keine angabe", "enthaltung", "teils teils", "teils/teils", "weder noch"), Choice.PASS),
    **dict.fromkeys(("oui", "d'accord", "plutôt d'accord", "tout à fait d'accord"), Choice.AGREE),
    **dict.fromkeys(("non", "pas d'accord", "plutôt pas d'accord", "pas du tout d'accord"), Choice.DISAGREE),
    **dict.fromkeys(("neutre", "sans opinion", "ne sait pas", "ni d'accord ni pas d'accord"), Choice.PASS),
    **dict.fromkeys(("sí", "si", "de acuerdo", "muy de acuerdo", "totalmente de acuerdo", "algo de acuerdo"), Choice.AGREE),
    **dict.fromkeys(("en desacuerdo", "muy en desacuerdo", "totalmente en desacuerdo", "algo en desacuerdo"), Choice.DISAGREE),
    **dict.fromkeys(("ni de acuerdo ni en desacuerdo", "no sabe", "no sé"), Choice.PASS),
}
_DEGREE = re.compile(r"^(?:strongly|totally|completely|fully|mostly|somewhat|slightly|rather|tend to|partly)\s+")
#: Spreadsheets sometimes write whole numbers with decimals, after a point or a comma.
_NUMBER = re.compile(r"-?\d+(?:[.,]0+)?")
#: The results of `_scale` for scales around zero: -1 to 1 (also for words), and -2 to 2.
_THREE_AROUND_ZERO, _FIVE_AROUND_ZERO = -3, -5
#: The longest scale: percentages.
_MOST_POINTS = 100
#: Scales that are recognized by their highest point.
_SCALES = (5, 7, 10)


def read_spreadsheet(
    answers: Path,
    *,
    scale: int | None = None,
    comments: Path | None = None,
    flags: Path | None = None,
    participants: Path | None = None,
    summary: Path | None = None,
    conversation_id: str | None = None,
    inverted: bool = False,
) -> Conversation:
    """Read a conversation from a spreadsheet: XLSX, XLS, ODS or CSV.

    Answers are from 1 to `scale`. Without it, numbers must be -1, 0 and 1 (or -2 to 2), or their highest must be 5, 7 or 10: answers from
    1 to 4 may use all of a four-point scale or part of a five-point one. If `inverted`, low numbers agree and high ones disagree; words
    mean what they say.

    If the columns are comment ids, `comments` is the file with these comments. The other files are those of an export (`read_export`), and
    have the same effect; the ids of statements in columns are their positions from 0, those of people without one are their rows.
    """
    problems = Problems()
    (_, titles), *listed = sheet_rows(answers) or [(1, [])]
    _check_not_votes(titles, answers.name)
    _check_titles(titles, listed, answers.name)
    statements = _statements(titles, comments, answers.name)
    own = {number: Comment(number, titles[place].strip()) for place, number in statements.items()}
    described = read_description(comments or own, flags, participants, summary, problems)
    points = scale or _scale([row[place] for _, row in listed for place in statements if place < len(row)], answers.name)
    cast: list[tuple[int, int, int, int]] = []
    for person, (line, row) in zip(_people(titles, [row for _, row in listed]), listed, strict=True):
        if any(cell.strip() for cell in row[len(titles) :]):
            problems.add(answers.name, line, f"it has {len(row)} columns, the header {len(titles)}: put texts with commas in quotes")
            continue
        for place, number in statements.items():
            try:
                choice = _choice(row[place] if place < len(row) else "", points, inverted)
            except ValueError as error:
                problems.add(answers.name, line, f"{titles[place].strip()[:60]!r}: {error}")
                continue
            if choice is not None:
                # Times in spreadsheets have too many formats, and everybody answers only once: all votes get the same time.
                cast.append((person, number, int(choice), 0))
    problems.check()
    missing = [number for number in statements.values() if number not in described.comments]
    if missing:
        raise UnreadableFile(f"{answers.name} has a column for comment {missing[0]}, but the text of this comment is missing.")
    if not cast:
        raise UnreadableFile(
            f"{answers.name} has no answers.", fix="Use one row per person and one column per statement, or upload the files of an export."
        )
    return described.with_votes(Votes.of(cast), answers, answers.stem, conversation_id, inverted=False)


def _check_not_votes(titles: Sequence[str], name: str) -> None:
    """Refuse the files of an export, whose columns are not statements."""
    known = set(map(column, titles))
    if {"voter-id", "vote"} <= known or "comment-body" in known:
        raise UnreadableFile(
            f"{name} is a file of an export, not a spreadsheet of answers.", fix="Give votes.csv and comments.csv together."
        )


def _check_titles(titles: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], name: str) -> None:
    """Refuse answers in a column without a title, caused by merged cells or a heading above the statements: they would be ignored.

    The first column may lack a title: some programs write row numbers there.
    """
    for place, title in enumerate(titles):
        if (
            place
            and not title.strip()
            and (line := next((line for line, row in rows if place < len(row) and row[place].strip()), None)) is not None
        ):
            raise UnreadableFile(
                f"Column {place + 1} of {name} has no title, but line {line} has an answer in it.",
                fix="Put the statements into the first line, one above each column of answers, and unmerge cells; nothing was loaded.",
            )


def as_export(conversation: Conversation, *, with_rejected: bool = False) -> dict[str, str]:
    """The conversation as files of an export, by name: votes and comments, and excluded participants and the summary if it has them.

    Comments keep their author, time and moderation. The texts of rejected ones are left out unless `with_rejected`: an analysis needs
    only their votes.
    """
    cast = conversation.votes
    columns = ((cast.times // 1000).tolist(), cast.comments.tolist(), cast.participants.tolist(), cast.choices.tolist())
    order = sorted(range(len(cast)), key=lambda place: (columns[1][place], columns[2][place], columns[0][place]))
    comments = [
        [
            "" if one.created_at is None else int(one.created_at.timestamp()),
            one.comment_id,
            "" if one.author_id is None else one.author_id,
            one.moderated,
            int(one.is_meta),
            one.body if with_rejected or one.moderated != -1 else "",
        ]
        for one in conversation.comments
    ]
    files = {
        "votes.csv": _csv(["timestamp", "comment-id", "voter-id", "vote"], ([values[place] for values in columns] for place in order)),
        "comments.csv": _csv(["timestamp", "comment-id", "author-id", "moderated", "is-meta", "comment-body"], comments),
    }
    if conversation.removed_participants:
        removed = ([person, -1] for person in sorted(conversation.removed_participants))
        files["participants.csv"] = _csv(["voter-id", "moderated"], removed)
    about = {"topic": conversation.topic, "conversation-description": conversation.description} | {
        # Votes are always written with 1 for agreement.
        name: value
        for name, value in conversation.summary.items()
        if name != "vote-convention"
    }
    if any(about.values()):
        files["summary.csv"] = _csv(None, ([name, value] for name, value in about.items() if value))
    return files


def _csv(titles: Sequence[str] | None, rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if titles is not None:
        writer.writerow(titles)
    writer.writerows(rows)
    return text.getvalue()


def _people(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The participant id of each row: the one that Polis gave, or else the row's position. Names and addresses are not kept."""
    place = next((place for place, title in enumerate(titles) if column(title) in {"participant", "voter-id"}), None)
    given = [] if place is None else [row[place].strip() for row in rows if place < len(row)]
    numbered = len(given) == len(rows) == len(set(given)) and all(text.isascii() and text.isdecimal() and len(text) < 16 for text in given)
    return [int(text) for text in given] if numbered else list(range(len(rows)))


def _statements(titles: Sequence[str], comments: Path | None, name: str) -> dict[int, int]:
    """The comment id of each column that holds a statement, by the column's index."""
    left_out = {*_PEOPLE, *_PEOPLE_IDS, *_TIMES, *_COUNTS}
    places = [place for place, title in enumerate(titles) if title.strip() and column(title) not in left_out]
    if not places:
        raise UnreadableFile(
            f"{name} has no column with a statement.", fix="Use one column per statement, with its text in the first line."
        )
    if all(titles[place].strip().isdecimal() for place in places):
        if comments is None:
            raise UnreadableFile(
                f"The columns of {name} are comment ids, not statements.",
                fix="Also give the file with their texts (comments.csv; --comments of `gateleg delphi convert`).",
            )
        return {place: int(titles[place]) for place in places}
    if comments is not None:
        raise UnreadableFile(
            f"The columns of {name} are statements, but {comments.name} describes comments by their ids.",
            fix="Omit it. To reject a statement, give a file of flags with its comment-id (the first statement is 0) and moderated.",
        )
    return {place: number for number, place in enumerate(places)}


def _scale(cells: Sequence[str], name: str) -> int:
    """The number of points on the scale, judged by the answers; negative for a scale around zero."""
    numbers = [_whole(cell) for cell in map(str.strip, cells) if _NUMBER.fullmatch(cell)]
    if not numbers or (min(numbers) >= -1 and max(numbers) <= 1):
        return _THREE_AROUND_ZERO
    if min(numbers) < 0:
        return _FIVE_AROUND_ZERO
    found = max(numbers)
    if found > _MOST_POINTS:
        raise UnreadableFile(
            f"{name} has numbers up to {found:,}, which are not answers to statements.",
            fix="Remove columns that are not statements: use one row per person, one column per statement; nothing was loaded.",
        )
    if found not in _SCALES or min(numbers) < 1:
        raise UnreadableFile(
            f"The answers in {name} are from {min(numbers)} to {max(numbers)}, which does not show how many points the scale has.",
            fix="Give the number of points (scale=5; --scale 5 on the command line); nothing was loaded.",
        )
    return found


def _whole(number: str) -> int:
    return int(re.split(r"[.,]", number)[0])


def _choice(cell: str, points: int, inverted: bool) -> Choice | None:
    """Parse an answer; None for an empty cell. Negative `points` are those of a scale around zero."""
    text = " ".join(cell.replace("’", "'").lower().split())
    if not text:
        return None
    if _NUMBER.fullmatch(text):
        value = _whole(text)
        low, high = (-(abs(points) // 2), abs(points) // 2) if points < 0 else (1, points)
        if not low <= value <= high:
            raise ValueError(f"{value} is not on the scale from {low} to {high}")
        apart = (2 * value - (low + high)) * (-1 if inverted else 1)
        return Choice.AGREE if apart > 0 else Choice.DISAGREE if apart < 0 else Choice.PASS
    plain = _DEGREE.sub("", text)
    # Many surveys write the point and its words: "5 - strongly agree".
    plain = _DEGREE.sub("", re.sub(r"^\d+\s*[-–:.)]\s*", "", plain))
    if plain in _WORDS:
        return _WORDS[plain]
    raise ValueError(f"{cell.strip()[:40]!r} is not a known answer: use agree, disagree, pass, or a point on a scale")

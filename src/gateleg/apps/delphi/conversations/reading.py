"""CSV with a header, read so that every problem is reported by line and nothing is loaded when there is one."""

from __future__ import annotations

import csv
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from gateleg.apps.delphi.errors import MissingColumns, Problem, UnreadableFile, UnreadableRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

#: Problems that are kept with their lines; the rest are counted.
KEPT_PROBLEMS = 100
#: A comment may be long; a missing quote that swallows the rest of the file is not a comment.
_LONGEST_FIELD = 1_000_000
_TRUE = {"1", "true", "t", "yes", "y"}
_FALSE = {"0", "false", "f", "no", "n", ""}
#: Seconds up to the year 5138 are smaller than this, milliseconds since March 1973 are not.
_MILLISECONDS = 10**11


class Problems:
    """What is wrong with the rows of the files of one conversation."""

    def __init__(self) -> None:
        self.kept: list[Problem] = []
        self.count = 0

    def add(self, file: str, line: int, why: str) -> None:
        """Note a row that cannot be read."""
        self.count += 1
        if len(self.kept) < KEPT_PROBLEMS:
            self.kept.append(Problem(file, line, why))

    def check(self) -> None:
        """Raise `UnreadableRows` if there was any."""
        if self.count:
            raise UnreadableRows(self.kept, self.count)


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """The file as text; a byte order mark is skipped."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path.name} is not UTF-8: {error.reason} at byte {error.start:,}.") from None
    except OSError as error:
        raise UnreadableFile(f"{path.name} cannot be opened: {error.strerror}.", fix="Look at its name and who may read it.") from None


def records(file: TextIO, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file, each with the line on which it begins. Empty lines are skipped."""
    # The limit is one for the whole process: it is raised and stays so, because another thread may be reading.
    if csv.field_size_limit() < _LONGEST_FIELD:
        csv.field_size_limit(_LONGEST_FIELD)
    first = file.readline(_LONGEST_FIELD)
    file.seek(0)
    line = 1
    try:
        reader = csv.reader(file, delimiter=delimiter_of(first), strict=True)
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFile(
            f"{name}, the row that begins on line {line}: {error}.", fix="Look for a quote that is never closed."
        ) from None


def delimiter_of(line: str) -> str:
    """What divides the columns of a file, by its first line. Spreadsheets of many countries write semicolons, or tabs, for commas."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(",;\t", key=bare.count) if "," not in bare or bare.count(";") > bare.count(",") else ","


def header(rows: Iterator[tuple[int, list[str]]], name: str, needed: Mapping[str, str]) -> dict[str, int]:
    """Where each column is; `MissingColumns` names those that are needed and absent, and what each is needed for."""
    _, titles = next(rows, (1, []))
    named = [column(title) for title in titles]
    places = {title: place for place, title in enumerate(named)}
    missing = [f"{title!r} ({purpose})" for title, purpose in needed.items() if title not in places]
    if missing:
        found = ", ".join(repr(title) for title in places) or "nothing"
        raise MissingColumns(f"{name} has no column {' and no column '.join(missing)}; its first line has {found}.")
    twice = [title for title in needed if named.count(title) > 1]
    if twice:
        raise UnreadableFile(f"{name} has more than one column {twice[0]!r}.", fix="Leave only the one that counts; nothing was loaded.")
    return places


def column(title: str) -> str:
    """What a column is called, however its title is written."""
    return title.strip().lower().replace("_", "-")


def whole(text: str, title: str) -> int:
    """A whole number, also when a spreadsheet has written it as 3.0."""
    try:
        return int(text)
    except ValueError:
        pass
    head, dot, tail = text.strip().partition(".")
    if dot and not tail.strip("0") and head.lstrip("-").isdigit():
        return int(head)
    raise ValueError(f"{title} is {text!r}, not a whole number")


def one_of(*allowed: int) -> Callable[[str, str], int]:
    """Reads a whole number that is one of a few."""

    def read(text: str, title: str) -> int:
        number = whole(text, title)
        if number not in allowed:
            raise ValueError(f"{title} is {number}, not one of {', '.join(map(str, allowed))}")
        return number

    return read


def flag(text: str, title: str) -> bool:
    """Yes or no, in one of the ways in which files say it; empty is no."""
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{title} is {text!r}, neither true nor false")


def milliseconds(text: str, title: str) -> int:
    """A time in milliseconds, from milliseconds or from seconds: exports of different years have either."""
    number = whole(text, title)
    if number < 0:
        raise ValueError(f"{title} is {number}, before 1970")
    return number if number >= _MILLISECONDS else number * 1000

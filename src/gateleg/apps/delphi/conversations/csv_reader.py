"""Reads CSV files with a header. Problems are collected and reported by line; if there are any, nothing is loaded."""

from __future__ import annotations

import csv
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from gateleg.apps.delphi.errors import MissingColumns, Problem, UnreadableFile, UnreadableRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

#: Problems that are kept with their lines; the others are only counted.
KEPT_PROBLEMS = 100
#: The maximum number of characters in a field, so that an unclosed quote does not swallow the rest of the file.
_LONGEST_FIELD = 1_000_000
_TRUE = {"1", "true", "t", "yes", "y"}
_FALSE = {"0", "false", "f", "no", "n", ""}
#: Seconds up to the year 5138 are smaller than this, milliseconds since March 1973 are not.
_MILLISECONDS = 10**11


class Problems:
    """The problems in the files of one conversation."""

    def __init__(self) -> None:
        self.kept: list[Problem] = []
        self.count = 0

    def add(self, file: str, line: int, why: str) -> None:
        """Add a row that cannot be read."""
        self.count += 1
        if len(self.kept) < KEPT_PROBLEMS:
            self.kept.append(Problem(file, line, why))

    def check(self) -> None:
        """Raise `UnreadableRows` if there are any problems."""
        if self.count:
            raise UnreadableRows(self.kept, self.count)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a file as UTF-8 text. A byte order mark is skipped."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path.name} is not UTF-8: {error.reason} at byte {error.start:,}.") from None
    except OSError as error:
        raise UnreadableFile(f"{path.name} cannot be opened: {error.strerror}.", fix="Check its path and permissions.") from None


def records(file: TextIO, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file, each with the line on which it begins. Empty lines are skipped."""
    # The limit holds for the whole process. It is never lowered again, because another thread may be reading.
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
        raise UnreadableFile(f"{name}, the row that begins on line {line}: {error}.", fix="Look for an unclosed quote.") from None


def delimiter_of(line: str) -> str:
    """The delimiter of a CSV file, judged by its first line: a comma, a semicolon or a tab."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(",;\t", key=bare.count) if "," not in bare or bare.count(";") > bare.count(",") else ","


def header(rows: Iterator[tuple[int, list[str]]], name: str, needed: Mapping[str, str]) -> dict[str, int]:
    """Read the header and return the index of each column. `MissingColumns` names the `needed` ones that are absent, and their meaning."""
    _, titles = next(rows, (1, []))
    named = [column(title) for title in titles]
    places = {title: place for place, title in enumerate(named)}
    missing = [f"{title!r} ({purpose})" for title, purpose in needed.items() if title not in places]
    if missing:
        found = ", ".join(repr(title) for title in places) or "nothing"
        raise MissingColumns(f"{name} has no column {' and no column '.join(missing)}; the first line has {found}.")
    twice = [title for title in needed if named.count(title) > 1]
    if twice:
        raise UnreadableFile(f"{name} has more than one column {twice[0]!r}.", fix="Remove all but one; nothing was loaded.")
    return places


def column(title: str) -> str:
    """The name of a column, normalized."""
    return title.strip().lower().replace("_", "-")


def whole_number(text: str, title: str) -> int:
    """Parse a whole number, also in the form 3.0, which spreadsheets write."""
    try:
        return int(text)
    except ValueError:
        pass
    head, dot, tail = text.strip().partition(".")
    if dot and not tail.strip("0") and head.lstrip("-").isdigit():
        return int(head)
    raise ValueError(f"{title} is {text!r}, not a whole number")


def one_of(*allowed: int) -> Callable[[str, str], int]:
    """A parser for a whole number that must be one of those allowed."""

    def read(text: str, title: str) -> int:
        number = whole_number(text, title)
        if number not in allowed:
            raise ValueError(f"{title} is {number}, not one of {', '.join(map(str, allowed))}")
        return number

    return read


def flag(text: str, title: str) -> bool:
    """Parse a boolean, in any of several spellings; empty is False."""
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{title} is {text!r}, neither true nor false")


def milliseconds(text: str, title: str) -> int:
    """Parse a time as milliseconds. Exports have milliseconds or seconds, depending on their year."""
    number = whole_number(text, title)
    if number < 0:
        raise ValueError(f"{title} is {number}, before 1970")
    return number if number >= _MILLISECONDS else number * 1000

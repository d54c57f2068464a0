"""Chunking strategies, and their parser, which accepts all equivalent forms. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gateleg.apps.rag.errors import BadChunking

#: Bounds of the chunk size in characters, or in tokens for TOKEN.
SMALLEST, LARGEST = 100, 10_000
DEFAULT_SIZE = 1_000
#: MiniLM reads 256 tokens, two of which are special tokens.
_DEFAULT_TOKENS = 254
DEFAULT_SEPARATORS = ("\n\n", "\n", ". ", " ")
_MOST_SEPARATORS, _LONGEST_SEPARATOR = 20, 50
_DEFAULT_THRESHOLD = 0.35
#: Field names of the three forms: {type, size, overlap}, {type, parameters: {chunkSize, chunkOverlap}} and {type, chunkSize, ...}.
_NAMES = {
    "size": "size",
    "chunksize": "size",
    "overlap": "overlap",
    "chunkoverlap": "overlap",
    "separators": "separators",
    "threshold": "threshold",
}


class ChunkingType(StrEnum):
    """The types of chunking."""

    #: windows of about equal size that end between words
    FIXED = "FIXED"
    #: at the first of several separators that gives pieces small enough
    RECURSIVE = "RECURSIVE"
    #: the whole document as one chunk
    NONE = "NONE"
    #: whole sentences
    SENTENCE = "SENTENCE"
    #: sections below headings
    MARKDOWN = "MARKDOWN"
    #: windows counted in tokens
    TOKEN = "TOKEN"
    #: split where the topic changes between neighbouring sentences
    SEMANTIC = "SEMANTIC"


_WITHOUT_OVERLAP = (ChunkingType.NONE, ChunkingType.SEMANTIC)


@dataclass(frozen=True, slots=True)
class Strategy:
    """A chunking strategy. Constructing an invalid one raises `BadChunking`."""

    type: ChunkingType = ChunkingType.RECURSIVE
    #: maximum characters of a chunk, or tokens for TOKEN
    size: int = DEFAULT_SIZE
    #: maximum characters or tokens that a chunk shares with the previous one
    overlap: int = 0
    separators: tuple[str, ...] = field(default=DEFAULT_SEPARATORS)
    #: SEMANTIC starts a new chunk where the similarity of neighbours, 0 to 1, is below this
    threshold: float = _DEFAULT_THRESHOLD

    def __post_init__(self) -> None:
        if not SMALLEST <= self.size <= LARGEST:
            raise BadChunking(f"chunkSize is {self.size}; it must be {SMALLEST} to {LARGEST}.", field="chunkSize")
        if self.overlap < 0:
            raise BadChunking(f"chunkOverlap is {self.overlap}; it must not be negative.", field="chunkOverlap")
        if self.overlap * 2 > self.size:
            half = self.size // 2
            raise BadChunking(f"chunkOverlap is {self.overlap}; with chunkSize {self.size} it may be at most {half}.", field="chunkOverlap")
        if not self.separators or not all(self.separators):
            raise BadChunking("separators must contain at least one string, and no empty string.", field="separators")
        if len(self.separators) > _MOST_SEPARATORS or max(map(len, self.separators)) > _LONGEST_SEPARATOR:
            most = f"{_MOST_SEPARATORS} separators of {_LONGEST_SEPARATOR} characters"
            raise BadChunking(f"separators may contain at most {most}.", field="separators")
        if not 0 <= self.threshold <= 1:
            raise BadChunking(f"threshold is {self.threshold:g}; it must be 0 to 1.", field="threshold")

    def stored(self) -> dict[str, Any]:
        """The strategy in its stored form, with the fields that its type uses."""
        found: dict[str, Any] = {"type": self.type.value}
        if self.type is ChunkingType.NONE:
            return found
        found["chunkSize"] = self.size
        if self.type not in _WITHOUT_OVERLAP:
            found["chunkOverlap"] = self.overlap
        if self.type is ChunkingType.RECURSIVE:
            found["separators"] = list(self.separators)
        if self.type is ChunkingType.SEMANTIC:
            found["threshold"] = self.threshold
        return found


#: The strategy of collections without one.
DEFAULT = Strategy(overlap=DEFAULT_SIZE // 5)


def parse_strategy(value: Mapping[str, Any] | Strategy | None) -> Strategy:
    """Parse a strategy in any accepted form, ignoring case; None is the default strategy. Raises `BadChunking`.

    The forms are `{type, size, overlap}`, `{type, parameters: {chunkSize, chunkOverlap}}` and
    `{type, chunkSize, chunkOverlap, separators}`.
    """
    if value is None:
        return DEFAULT
    if isinstance(value, Strategy):
        return value
    if not isinstance(value, Mapping):
        raise BadChunking(f"The chunking strategy is a {type(value).__name__}; it must be an object with a type.", field="chunkingStrategy")
    kind = _type(value)
    given = _fields(value)
    size = _number(given, "size", "chunkSize", _DEFAULT_TOKENS if kind is ChunkingType.TOKEN else DEFAULT_SIZE)
    overlap = 0 if kind in _WITHOUT_OVERLAP else _number(given, "overlap", "chunkOverlap", size // 5)
    return Strategy(kind, size, overlap, _separators(given), _threshold(given))


def legacy_strategy(size: int | None, overlap: int | None) -> Strategy | None:
    """The strategy of a pipeline or request with only a size and an overlap; None if both are missing."""
    if size is None and overlap is None:
        return None
    given = {"chunkSize": size, "chunkOverlap": overlap}
    return parse_strategy({"type": ChunkingType.FIXED.value, **{name: value for name, value in given.items() if value is not None}})


def _type(value: Mapping[str, Any]) -> ChunkingType:
    named = next((value[name] for name in value if str(name).lower() == "type"), None)
    if named is None:
        raise BadChunking("The chunking strategy has no type.", field="type", fix=f"Name one of {_types()}.")
    try:
        return ChunkingType(str(named).strip().upper())
    except ValueError:
        raise BadChunking(f"{str(named)[:40]!r} is not a chunking type.", field="type", fix=f"Name one of {_types()}.") from None


def _types() -> str:
    return ", ".join(kind.value for kind in ChunkingType)


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields except the type, including those within `parameters`, by their internal names. Unknown fields are refused."""
    found: dict[str, Any] = {}
    for name, given in value.items():
        plain = str(name).lower().replace("_", "")
        if plain == "type" or given is None:
            continue
        if plain == "parameters":
            if not isinstance(given, Mapping):
                raise BadChunking("parameters must be an object.", field="parameters")
            found |= _fields(given)
        elif plain in _NAMES:
            found[_NAMES[plain]] = given
        else:
            raise BadChunking(f"{str(name)[:40]!r} is not a field of a chunking strategy.", field=str(name)[:40])
    return found


def _number(given: Mapping[str, Any], name: str, field: str, default: int) -> int:
    value = given.get(name, default)
    # A table returns numbers as Decimal, and some JSON writers send floats.
    if isinstance(value, bool | str) or not _is_whole(value):
        raise BadChunking(f"{field} is {str(value)[:40]!r}; it must be a whole number.", field=field)
    return int(value)


def _is_whole(value: Any) -> bool:
    try:
        return bool(int(value) == value)
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return False


def _separators(given: Mapping[str, Any]) -> tuple[str, ...]:
    value = given.get("separators", DEFAULT_SEPARATORS)
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise BadChunking("separators must be a list of strings.", field="separators")
    return tuple(value)


def _threshold(given: Mapping[str, Any]) -> float:
    value = given.get("threshold", _DEFAULT_THRESHOLD)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadChunking(f"threshold is {str(value)[:40]!r}; it must be a number.", field="threshold") from None

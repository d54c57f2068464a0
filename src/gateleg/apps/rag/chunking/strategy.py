"""How a document is cut into chunks: the strategy as a value, read from each of the shapes that are in use. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gateleg.apps.rag.errors import BadChunking

#: Bounds of a chunk's size: characters, or tokens for TOKEN.
SMALLEST, LARGEST = 100, 10_000
DEFAULT_SIZE = 1_000
#: MiniLM reads 256 tokens, two of which are marks.
_DEFAULT_TOKENS = 254
DEFAULT_SEPARATORS = ("\n\n", "\n", ". ", " ")
_MOST_SEPARATORS, _LONGEST_SEPARATOR = 20, 50
_DEFAULT_THRESHOLD = 0.35
#: Names of fields in three shapes: {type, size, overlap}, {type, parameters: {chunkSize, chunkOverlap}} and {type, chunkSize, ...}.
_NAMES = {
    "size": "size",
    "chunksize": "size",
    "overlap": "overlap",
    "chunkoverlap": "overlap",
    "separators": "separators",
    "threshold": "threshold",
}


class ChunkingType(StrEnum):
    """The ways to cut a text."""

    #: windows of about one size that end between words
    FIXED = "FIXED"
    #: at the first of several separators that gives pieces small enough
    RECURSIVE = "RECURSIVE"
    #: not at all: one chunk
    NONE = "NONE"
    #: whole sentences
    SENTENCE = "SENTENCE"
    #: sections below headings
    MARKDOWN = "MARKDOWN"
    #: windows counted in tokens
    TOKEN = "TOKEN"
    #: where neighbouring sentences are about different things
    SEMANTIC = "SEMANTIC"


_WITHOUT_OVERLAP = (ChunkingType.NONE, ChunkingType.SEMANTIC)


@dataclass(frozen=True, slots=True)
class Strategy:
    """A chunking strategy. One that cannot be followed is refused with `BadChunking` when it is made."""

    type: ChunkingType = ChunkingType.RECURSIVE
    #: the most characters of a chunk, or tokens for TOKEN
    size: int = DEFAULT_SIZE
    #: the most characters or tokens that a chunk shares with the one before it
    overlap: int = 0
    separators: tuple[str, ...] = field(default=DEFAULT_SEPARATORS)
    #: SEMANTIC begins a new chunk where the similarity of neighbours, 0 to 1, is below this
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
            raise BadChunking("separators must hold at least one text, and no empty one.", field="separators")
        if len(self.separators) > _MOST_SEPARATORS or max(map(len, self.separators)) > _LONGEST_SEPARATOR:
            most = f"{_MOST_SEPARATORS} separators of {_LONGEST_SEPARATOR} characters"
            raise BadChunking(f"separators may hold at most {most}.", field="separators")
        if not 0 <= self.threshold <= 1:
            raise BadChunking(f"threshold is {self.threshold:g}; it must be 0 to 1.", field="threshold")

    def stored(self) -> dict[str, Any]:
        """The strategy as it is stored: the fields that its type uses, under the names of the table's document."""
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


#: What documents are cut by when nobody has chosen a strategy.
DEFAULT = Strategy(overlap=DEFAULT_SIZE // 5)


def parse_strategy(value: Mapping[str, Any] | Strategy | None) -> Strategy:
    """A strategy in one of the shapes that are in use, in any letter case; None is the default. Raises `BadChunking`.

    The shapes are `{type, size, overlap}`, `{type, parameters: {chunkSize, chunkOverlap}}` and
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
    """The strategy of a pipeline or a request that names a size and an overlap alone; None when it names neither."""
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
        raise BadChunking(f"{str(named)[:40]!r} is not a type of chunking.", field="type", fix=f"Name one of {_types()}.") from None


def _types() -> str:
    return ", ".join(kind.value for kind in ChunkingType)


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields beside the type by our names, also those within `parameters`. Unknown ones are refused: they would be ignored."""
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
    # Numbers come as Decimal from a table, and as float from some JSON writers.
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
        raise BadChunking("separators must be a list of texts.", field="separators")
    return tuple(value)


def _threshold(given: Mapping[str, Any]) -> float:
    value = given.get("threshold", _DEFAULT_THRESHOLD)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadChunking(f"threshold is {str(value)[:40]!r}; it must be a number.", field="threshold") from None

"""Kinds of request members, with their constraints. `requests.py` has the shapes of all requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: The pattern of table and index names, as DynamoDB prints it.
NAME_PATTERN = "[a-zA-Z0-9_.-]+"


@dataclass(frozen=True, slots=True)
class Text:
    """A string, with its length limits, its pattern or its set of values (in DynamoDB's order)."""

    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    enum: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableName:
    """A table name or ARN.

    What is wrong with it is worded in three ways: with the other constraints (`member`), with these but a missing name on its own
    (`created`), and all of them on their own (`named`).
    """

    wording: Literal["member", "created", "named"] = "member"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the given Java type; `terse` bounds are reported in the newer form, without the value."""

    java: Literal["Integer", "Long", "Double", "Date"]
    min: int | None = None
    max: int | None = None
    terse: bool = False


@dataclass(frozen=True, slots=True)
class Boolean:
    """A boolean."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of members of one kind; `terse` limits are reported in the newer form, without the value."""

    item: "Kind"
    min: int | None = None
    max: int | None = None
    terse: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map from strings to members of one kind.

    `names` says that the keys are names of tables, `sizes` are the limits on the length of the values as DynamoDB states them
    for the whole map. The values of a map that is not `walked` are checked by the operations. A `json` map is printed as it came.
    """

    value: "Kind"
    names: bool = False
    sizes: tuple[int, int] | None = None
    walked: bool = True
    json: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure; errors are reported in the order of `members`."""

    name: str
    members: Mapping[str, "Kind"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()


Kind = Text | TableName | Number | Boolean | ListOf | MapOf | Structure


#: An attribute value, whose content is validated where it is used.
VALUE = Structure("AttributeValue")

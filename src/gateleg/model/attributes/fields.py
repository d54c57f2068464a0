"""Defaults, constraints and wire names of attributes.

`field(default)`, `new_uuid()` and `stamp(...)` give an attribute a default; `required(...)` adds constraints to one without a default.
Type checkers then know which constructor arguments may be omitted.
"""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, overload
from uuid import UUID, uuid4

from pydantic import Field

from gateleg.model.attributes.traits import Stamp, Traits
from gateleg.model.errors import BadOption
from gateleg.model.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo

    from gateleg.model.attributes.attr import Attr

T = TypeVar("T")
_UNSET: Any = object()


@overload
def field(
    default: T,
    *,
    name: str | None = None,
    create_only: bool = False,
    read_only: bool = False,
    hidden: bool = False,
    title: str | None = None,
    description: str | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    discriminator: str | None = None,
) -> Attr[T]: ...


@overload
def field(
    *,
    factory: Callable[[], T],
    name: str | None = None,
    create_only: bool = False,
    read_only: bool = False,
    hidden: bool = False,
    title: str | None = None,
    description: str | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    discriminator: str | None = None,
) -> Attr[T]: ...


def field(default: Any = _UNSET, *, factory: Any = None, **options: Any) -> Any:
    """Declare an attribute with a default, or with a `factory` that makes one for each instance (`factory=lambda: Logs()`).

    `name` is the attribute name in DynamoDB. With `create_only`, the default applies to new instances only, and an item without the
    attribute cannot be read. A `read_only` attribute cannot be assigned or updated. A `hidden` one is left out of dumps and `repr`.
    The other options are pydantic's constraints. Raises `BadOption` for an unknown option.
    """
    for name in options:
        if name not in _OPTIONS:
            raise BadOption(f"field() has no option {name!r}.", fix=did_you_mean(name, _OPTIONS))
    if factory is not None:
        if not callable(factory):
            raise BadOption(f"field() has factory={factory!r}, which cannot be called.", fix="Give a type or a function: factory=list.")
        return _field_info(options, default_factory=factory)
    return _field_info(options) if default is _UNSET else _field_info(options, default=default)


def required(
    *,
    name: str | None = None,
    read_only: bool = False,
    hidden: bool = False,
    title: str | None = None,
    description: str | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    discriminator: str | None = None,
) -> Any:
    """Declare an attribute without a default, with options as in `field`."""
    return _field_info(dict(locals()))


def new_uuid(*, name: str | None = None) -> Attr[UUID]:
    """Declare an attribute that gets a random UUID in each new instance. `name` is the attribute name in DynamoDB."""
    return cast("Attr[UUID]", _field_info({"name": name, "create_only": True}, default_factory=uuid4))


def stamp(*, on: Stamp, name: str | None = None) -> Attr[datetime]:
    """Declare a time that is set automatically: once with `on="create"`, at every write with `on="write"`.

    `name` is the attribute name in DynamoDB.
    """
    if on not in get_args(Stamp):
        raise BadOption(f"stamp() has no on={on!r}.", fix='Use on="create" or on="write".')
    info = _field_info({"name": name, "stamp": on, "create_only": True}, default_factory=lambda: datetime.now(UTC))
    return cast("Attr[datetime]", info)


def _field_info(options: dict[str, Any], **defaults: Any) -> FieldInfo:
    traits = Traits(
        name=options.pop("name", None),
        stamp=options.pop("stamp", None),
        create_only=options.pop("create_only", False),
        read_only=options.pop("read_only", False),
    )
    if options.pop("hidden", False):
        options |= {"exclude": True, "repr": False}
    if traits.read_only:
        options["frozen"] = True
    info: FieldInfo = Field(**defaults, **{option: value for option, value in options.items() if value is not None})
    info.metadata.append(traits)
    return info


#: The options of `field`: those of `required`, and those for attributes with a default.
_OPTIONS = ("default", "factory", "create_only", *inspect.signature(required).parameters)

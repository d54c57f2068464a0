"""Sample arguments of an access pattern, to show its request without real values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin
from uuid import UUID

from gateleg.model import KeyPart, spec_of
from gateleg.model.types import is_special

if TYPE_CHECKING:
    from gateleg.model import Access
    from gateleg.model.types import Declared

_MOMENT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
_UUID = UUID("00000000-0000-4000-8000-000000000000")


def sample_arguments(access: Access[Any]) -> dict[str, Any]:
    """A sample value for each required argument of a pattern."""
    spec = spec_of(access.entity)
    return {name: _sample(name, spec.sources[name].declared) for name in access.required}


def _sample(name: str, declared: Declared) -> Any:
    kind = declared.type
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if not isinstance(kind, type):
        return f"<{name}>"
    if issubclass(kind, Enum):
        return next(iter(kind))
    if issubclass(kind, KeyPart):
        return kind(**{member: _sample(member, inner) for member, inner in kind.__members__().items()})
    if issubclass(kind, str):
        return f"folder/{name}" if is_special(declared.metadata, "s3-key") else f"<{name}>"
    for known, value in _VALUES:
        if issubclass(kind, known):
            return value
    return f"<{name}>"


_VALUES: tuple[tuple[type, Any], ...] = (
    (bool, True),
    (int, 1),
    (float, 1.0),
    (Decimal, Decimal(1)),
    (datetime, _MOMENT),
    (date, _MOMENT.date()),
    (UUID, _UUID),
    (bytes, b"\x00"),
)

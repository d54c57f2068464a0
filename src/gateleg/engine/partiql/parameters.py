"""A request's parameters as canonical attribute values."""

import re
from typing import Any, Final

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.values import validate

_REFUSED: Final = "The parameter cannot be converted to a numeric value: "
_NUMBER = re.compile(r"[+-]?([0-9]*)\.?([0-9]*)[eE]([+-]?[0-9]{1,10})", re.ASCII)
_INTEGER: Final = 2**31


def read_parameters(given: list[Any] | None) -> list[Any]:
    """The parameters; raises DynamoDB's error for the first that is no attribute value."""
    try:
        return [validate(value) for value in given or ()]
    except EngineError as error:
        raise _reworded(error) from None


def _reworded(error: EngineError) -> EngineError:
    """PartiQL reads numbers as Java does, and so tells exponents of 32 bits from greater ones."""
    message = error.message or ""
    match = _NUMBER.fullmatch(message.removeprefix(_REFUSED)) if message.startswith(_REFUSED) else None
    if match is None:
        return error
    digits = len((match[1] + match[2]).lstrip("0")) or 1
    scale = len(match[2]) - int(match[3])
    if not -_INTEGER <= scale < _INTEGER or not -_INTEGER <= int(match[3]) < _INTEGER:
        return error
    # The magnitude is reckoned in 32 bits too, and comes out negative when it does not fit.
    magnitude = (digits - scale + _INTEGER) % (2 * _INTEGER) - _INTEGER
    if magnitude > 0:
        return validation("Number overflow. Attempting to store a number with magnitude larger than supported range")
    return validation("Number underflow. Attempting to store a number with magnitude smaller than supported range")

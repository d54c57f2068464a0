"""The values that keys are built from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from gateleg.errors import problem_message, shown
from gateleg.model.codec.shapes import CodeScope, Shape
from gateleg.model.errors import KeyValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.model.attributes.annotations import Declared
    from gateleg.model.codec.wire import Value


@dataclass(frozen=True, eq=False)
class KeySource:
    """A value that keys can be built from: an attribute, or a field of a key part (`member`) that an attribute holds."""

    name: str
    wire: str
    attribute: str
    member: str | None
    annotation: Any
    declared: Declared
    shape: Shape

    @cached_property
    def pack(self) -> Callable[[Any], Value]:
        """A function from the Python value to the wire value."""
        scope = CodeScope()
        packer: Callable[[Any], Value] = eval(f"lambda v: {self.shape.pack('v', scope)}", scope.names)
        return packer

    @cached_property
    def unpack(self) -> Callable[[Value], Any]:
        """A function from the wire value to a value that pydantic accepts."""
        scope = CodeScope()
        unpacker: Callable[[Value], Any] = eval(f"lambda w: {self.shape.unpack('w', scope)}", scope.names)
        return unpacker

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    def validate(self, value: Any, entity: str) -> Any:
        """Convert an argument to the declared type; raise `KeyValueError` if that fails."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            reasons = "; ".join(problem_message(problem) for problem in error.errors())
            raise KeyValueError(
                f"{entity}.{self.name} cannot be {shown(value)}: {reasons}.", fix="Pass a value of the attribute's type."
            ) from None

"""The values that keys are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from gateleg.model.codec.shapes import Scope, Shape
from gateleg.model.errors import KeyValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.model.attributes.annotations import Declared
    from gateleg.model.codec.wire import Value


@dataclass(frozen=True, eq=False)
class Source:
    """A value that keys are made of: an attribute, or a field of one that holds a key part."""

    name: str
    wire: str
    attribute: str
    member: str | None
    annotation: Any
    declared: Declared
    shape: Shape

    @cached_property
    def pack(self) -> Callable[[Any], Value]:
        """From the Python value to the wire value."""
        scope = Scope()
        packer: Callable[[Any], Value] = eval(f"lambda v: {self.shape.pack('v', scope)}", scope.names)
        return packer

    @cached_property
    def unpack(self) -> Callable[[Value], Any]:
        """From the wire value to what pydantic accepts."""
        scope = Scope()
        unpacker: Callable[[Value], Any] = eval(f"lambda w: {self.shape.unpack('w', scope)}", scope.names)
        return unpacker

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    def validate(self, value: Any, entity: str) -> Any:
        """The value of an argument, in the declared type."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            reasons = "; ".join(problem["msg"] for problem in error.errors())
            raise KeyValueError(
                f"{entity}.{self.name} cannot be {value!r}: {reasons}.", fix="Pass a value of the attribute's type."
            ) from None

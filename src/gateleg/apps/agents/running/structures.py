"""Structured answers: a pydantic model that validates against a JSON schema of a user.

A schema may hold regular expressions, and alternatives of alternatives, that take years to apply or seconds to read. Schemas are therefore
read and applied in a process with limits only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, RootModel, model_validator

from gateleg.apps.agents.errors import BadOutputSchema
from gateleg.processes import LimitReached, ProcessLimits, run_limited, run_limited_blocking

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_output_schemas", "model_from_schema"]

_LIMITS = ProcessLimits(seconds=5, memory=500_000_000)
#: Where the functions of the process are, and what they import late.
_PLACE, _IMPORTS = __name__, ("jsonschema",)
_MOST_PROBLEMS = 10


async def check_output_schemas(schemas: Sequence[dict[str, Any]]) -> None:
    """Raise `BadOutputSchema` for what is not a JSON schema of an object, and for a schema that takes too long to read."""
    if not schemas:
        return
    try:
        problem = await run_limited(f"{_PLACE}:schema_problem", list(schemas), _LIMITS, imports=_IMPORTS, preloaded=True)
    except LimitReached:
        problem = "The output schema takes too long to read."
    if problem is not None:
        raise BadOutputSchema(problem)


def model_from_schema(schema: dict[str, Any]) -> type[RootModel[dict[str, Any]]]:
    """Make a model that accepts exactly the objects a JSON schema accepts."""

    class Structure(RootModel[dict[str, Any]]):
        """A value that the schema accepts."""

        model_config = ConfigDict(title=str(schema.get("title") or "Answer")[:60])

        @model_validator(mode="after")
        def _satisfies(self) -> Structure:
            given = {"schema": schema, "value": self.root}
            try:
                problems = run_limited_blocking(f"{_PLACE}:value_problems", given, _LIMITS, imports=_IMPORTS, preloaded=True)
            except LimitReached:
                problems = ["the object: checking it against the schema takes too long"]
            if problems:
                raise ValueError("; ".join(problems))
            return self

        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            return schema

    return Structure


def schema_problem(schemas: list[dict[str, Any]]) -> str | None:
    """In the limited process: what is wrong with the first schema that cannot be used."""
    jsonschema: Any = import_module("jsonschema")
    for schema in schemas:
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            return f"The output schema is not a JSON schema: {error.message}."
        if schema.get("type", "object") != "object":
            return "The output schema does not describe an object."
    return None


def value_problems(given: dict[str, Any]) -> list[str]:
    """In the limited process: why a schema does not accept a value."""
    validator = import_module("jsonschema").Draft202012Validator(given["schema"])
    found = list(validator.iter_errors(given["value"]))
    return [f"{'/'.join(map(str, one.absolute_path)) or 'the object'}: {one.message}" for one in found][:_MOST_PROBLEMS]

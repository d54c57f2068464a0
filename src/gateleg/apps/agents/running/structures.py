"""Structured answers: a pydantic model that validates against a JSON schema."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pydantic import ConfigDict, RootModel, model_validator

from gateleg.apps.agents.errors import BadOutputSchema

__all__ = ["model_from_schema"]


def model_from_schema(schema: dict[str, Any]) -> type[RootModel[dict[str, Any]]]:
    """Make a model that accepts exactly the objects a JSON schema accepts. Raises `BadOutputSchema` for any other schema."""
    # Imported here: slow to load, and few questions need it.
    jsonschema: Any = import_module("jsonschema")
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise BadOutputSchema(f"The output schema is not a JSON schema: {error.message}.") from None
    if schema.get("type", "object") != "object":
        raise BadOutputSchema("The output schema does not describe an object.")
    validator = jsonschema.Draft202012Validator(schema)

    class Structure(RootModel[dict[str, Any]]):
        """A value that the schema accepts."""

        model_config = ConfigDict(title=str(schema.get("title") or "Answer")[:60])

        @model_validator(mode="after")
        def _satisfies(self) -> Structure:
            found = list(validator.iter_errors(self.root))
            problems = [f"{'/'.join(map(str, one.absolute_path)) or 'the object'}: {one.message}" for one in found]
            if problems:
                raise ValueError("; ".join(problems[:10]))
            return self

        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            return schema

    return Structure

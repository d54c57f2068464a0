"""Validate agent configurations against the JSON schema of their model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.secret_references import is_reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.agents.tables import Agent
    from gateleg.store import AsyncStore

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


async def check_configuration(store: AsyncStore, agent: Agent) -> None:
    """Raise for a configuration that does not match the model's schema. A model without a schema accepts any."""
    llm = await store.find(Llm, llm_provider=agent.llm_provider, llm_name=agent.llm_name)
    problems = [] if llm is None else schema_problems(agent.configuration, llm.configuration_schema)
    if problems:
        raise BadField("configuration: " + "; ".join(problems) + ".", details={"fields": {"configuration": problems}})


def schema_problems(value: Any, schema: Mapping[str, Any], path: str = "") -> list[str]:
    """The violations of a JSON schema, with paths: type, required, enum, minimum, maximum, properties, additionalProperties and items.

    A reference to a secret is accepted as any string. Other keywords of JSON Schema are ignored.
    """
    where = path or "it"
    kinds = schema.get("type")
    wanted = [kinds] if isinstance(kinds, str) else list(kinds or ())
    if wanted and not any(_is(value, kind) for kind in wanted):
        return [f"{where} must be {' or '.join(wanted)}"]
    found = []
    if "enum" in schema and value not in schema["enum"] and not is_reference(value):
        found.append(f"{where} must be one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        found += [f"{where} must be at least {schema['minimum']}"] if value < schema.get("minimum", value) else []
        found += [f"{where} must be at most {schema['maximum']}"] if value > schema.get("maximum", value) else []
    if isinstance(value, dict):
        found += _object_problems(value, schema, path)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        found += [problem for place, one in enumerate(value) for problem in schema_problems(one, schema["items"], f"{path}[{place}]")]
    return found


def _object_problems(value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> list[str]:
    prefix = f"{path}." if path else ""
    properties = schema.get("properties") or {}
    found = [f"{prefix}{name} is required" for name in schema.get("required") or () if name not in value]
    for name, one in value.items():
        if isinstance(properties.get(name), dict):
            found += schema_problems(one, properties[name], f"{prefix}{name}")
        elif name not in properties and schema.get("additionalProperties") is False:
            found.append(f"{prefix}{name} is not a known property")
    return found


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, (object,))) or (kind == "integer" and isinstance(value, float) and value.is_integer())

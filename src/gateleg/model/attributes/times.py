"""Make a pydantic schema require aware datetimes and convert them to UTC."""

from __future__ import annotations

from typing import Any

from pydantic_core import core_schema

from gateleg.model.codec.wire import to_utc


def times_in_utc(schema: Any) -> Any:
    """Copy the schema so that every datetime must be aware and is converted to UTC; nested models are left to their own schemas."""
    kind = schema.get("type")
    if kind == "datetime":
        aware: Any = {**schema, "tz_constraint": "aware"}
        return core_schema.no_info_after_validator_function(to_utc, aware)
    changed = dict(schema)
    if kind in ("nullable", "default", "list", "set", "frozenset", "function-after", "function-before", "function-wrap"):
        for member in ("schema", "items_schema"):
            if isinstance(changed.get(member), dict) and kind != "model":
                changed[member] = times_in_utc(changed[member])
    elif kind == "dict" and "values_schema" in changed:
        changed["values_schema"] = times_in_utc(changed["values_schema"])
    elif kind in ("union", "tuple"):
        member = "choices" if kind == "union" else "items_schema"
        changed[member] = [times_in_utc(choice) if isinstance(choice, dict) else choice for choice in changed[member]]
    return changed

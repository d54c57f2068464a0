"""Reading attributes without pydantic where pydantic could only agree.

A validator looks at every value from outside, and for an item of thirty attributes that takes longer than all the rest of reading it. But
what stands behind a wire type is known: a declared `str` under an `S` is what it is to become, an `N` that `int` reads is an `int`. Which
attributes are of that kind is decided once for each field, from the schema that pydantic compiled. The values of all other fields (nested
models, lists, UUIDs, custom validators, ...) go through a validator of that field's own schema, and a model that looks at the whole of
itself (validators of the model, private attributes, validators that see other fields) is left to pydantic altogether.

The generated source never decides that an item is wrong. Whatever does not fit makes it turn to the slow way, which validates everything
by the model itself and says what is amiss; so the two ways can differ only in what both accept.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_core import SchemaValidator, core_schema

from gateleg.model.shapes import EPOCH, FLAG, FLOAT, INSTANT, INTEGER, TEXT, TEXT_ENUM, ListShape, Scope
from gateleg.model.wire import to_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateleg.model.spec import Attribute, Spec

Schema = dict[str, Any]
_SLOW = "return slowly(item)"
#: Members of a schema that say nothing about which values are valid.
_SILENT = {"type", "ref", "metadata", "serialization"}
_BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
#: Options of a model that do not change how its fields are read.
_HARMLESS = {"title", "extra_fields_behavior"}
#: Up to so many derived attributes, to count them is faster than to look up each attribute of the item.
_FEW = 6
_SLOTS = {
    "set_values": "__dict__",
    "set_fields": "__pydantic_fields_set__",
    "set_extra": "__pydantic_extra__",
    "set_private": "__pydantic_private__",
}


@dataclass(frozen=True)
class _Field:
    """What pydantic would do with one field: the schema of a value that is there, and source for one that is not."""

    schema: Schema
    #: None when a field that is absent is an error
    default: str | None


def direct_source(spec: Spec[Any], scope: Scope) -> list[str] | None:
    """Lines that read `item` into the instance `m`, or None when the entity is better left to pydantic."""
    model, definitions = _plain_model(spec.entity)
    if model is None:
        return None
    fields = {name: _field(entry["schema"], definitions, scope) for name, entry in model["schema"]["fields"].items()}
    if fields.keys() != spec.attributes.keys() or any(entry is None for entry in fields.values()):
        return None
    scope.names |= {name: BaseModel.__dict__[slot].__set__ for name, slot in _SLOTS.items()}
    scope.names |= {"new": object.__new__, "entity": spec.entity, "UTC": UTC, "deepcopy": deepcopy}
    lines, validated = [], 0
    for at, (name, entry) in enumerate(fields.items()):
        assert entry is not None
        attribute = spec.attributes[name]
        read = _reading(attribute, entry.schema, f"v{at}", scope)
        if read is None:
            validated += 1
            validator = SchemaValidator(_with_definitions(entry.schema, definitions), model.get("config"))
            check = scope.bind(validator.validate_python, f"check_{name}")
            read = [f"v{at} = {check}({attribute.shape.unpack('w', scope)})"]
        lines += _statement(attribute, entry, f"v{at}", read)
    if validated * 2 > len(fields):
        return None
    return [*_opening(spec, scope), *lines, *_instance(fields), *_remainder(spec)]


def _plain_model(entity: type[BaseModel]) -> tuple[Schema | None, Mapping[str, Schema]]:
    """The schema of a model that is nothing but its fields, and the definitions that it refers to."""
    schema, definitions = _unwrapped(entity)
    config = schema.get("config", {})
    plain = (
        schema["type"] == "model"
        and schema["cls"] is entity
        and schema["schema"]["type"] == "model-fields"
        and not (schema.get("custom_init") or schema.get("root_model") or schema.get("post_init"))
        and config.keys() <= _HARMLESS
        and config.get("extra_fields_behavior") != "allow"
        and not entity.__private_attributes__
        and entity.__new__ is object.__new__
        and not _sees_others(schema)
    )
    return schema if plain else None, definitions


def field_validator(model: type[BaseModel], name: str) -> Callable[[Any], Any] | None:
    """Validates a value as the model does for one of its fields; None for a field whose validators look at others."""
    schema, definitions = _unwrapped(model)
    if schema["type"] != "model" or schema["schema"]["type"] != "model-fields":
        return None
    entry = schema["schema"]["fields"][name]["schema"]
    if _sees_others(entry):
        return None
    return SchemaValidator(_with_definitions(entry, definitions), schema.get("config")).validate_python


def _unwrapped(model: type[BaseModel]) -> tuple[Schema, Mapping[str, Schema]]:
    """The schema of a model and the definitions that it refers to."""
    schema: Schema = model.__pydantic_core_schema__  # type: ignore[assignment]
    if schema["type"] != "definitions":
        return schema, {}
    definitions = {definition["ref"]: definition for definition in schema["definitions"]}
    return _resolved(schema["schema"], definitions), definitions


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    return definitions[schema["schema_ref"]] if schema["type"] == "definition-ref" else schema


def _sees_others(schema: Any) -> bool:
    """Whether a validator or a default somewhere in a schema looks at other fields."""
    if isinstance(schema, list | tuple):
        return any(_sees_others(entry) for entry in schema)
    if not isinstance(schema, dict):
        return False
    return (
        schema.get("type") == "with-info"
        or bool(schema.get("default_factory_takes_data"))
        or any(_sees_others(entry) for name, entry in schema.items() if name != "metadata")
    )


def _with_definitions(schema: Schema, definitions: Mapping[str, Schema]) -> Any:
    return core_schema.definitions_schema(schema, list(definitions.values())) if definitions else schema


def _field(schema: Schema, definitions: Mapping[str, Schema], scope: Scope) -> _Field | None:
    """The inner schema and the default of a field; None when a default is to be validated or stands in for errors."""
    default = None
    if schema["type"] == "default":
        if schema.get("validate_default") or schema.get("on_error", "raise") != "raise":
            return None
        default = _default(schema, scope)
        schema = schema["schema"]
    # A value that is there is not None: None is absent on the wire.
    if schema["type"] == "nullable":
        schema = schema["schema"]
    return _Field(_resolved(schema, definitions), default)


def _default(schema: Schema, scope: Scope) -> str:
    if "default_factory" in schema:
        return f"{scope.bind(schema['default_factory'], 'factory')}()"
    value = schema["default"]
    if value is None:
        return "None"
    name = scope.bind(value, "default")
    try:
        hash(value)
    except TypeError:
        return f"deepcopy({name})"
    return name


def _reading(attribute: Attribute, schema: Schema, v: str, scope: Scope) -> list[str] | None:
    """Statements that read the wire value `w` into `v`, if what is declared is provable from what is read."""
    shape, kind = attribute.shape, schema["type"]
    rules = {name: value for name, value in schema.items() if name not in _SILENT}
    if kind == "str" and shape is TEXT and rules.keys() <= {"min_length", "max_length"}:
        return [f'{v} = w["S"]', f"if type({v}) is not str{_outside(f'len({v})', _lengths(rules))}: {_SLOW}"]
    if kind == "int" and shape is INTEGER and rules.keys() <= _BOUNDS.keys():
        refused = _outside(v, rules)
        # With a base, int() takes nothing but text.
        return [f'{v} = int(w["N"], 10)', *([f"if{refused.removeprefix(' or')}: {_SLOW}"] if refused else [])]
    if kind == "list" and shape == ListShape(TEXT) and rules == {"items_schema": {"type": "str"}}:
        # A comprehension would be a call of its own, and most lists are short.
        return [f"{v} = []", 'for x in w["L"]:', '  x = x["S"]', f"  if type(x) is not str: {_SLOW}", f"  {v}.append(x)"]
    if rules and kind not in ("enum", "literal", "function-after"):
        return None
    if kind == "float" and shape is FLOAT:
        return [f'{v} = float(w["N"])']
    if kind == "bool" and shape is FLAG:
        return [f'{v} = w["BOOL"]', f"if {v} is not True and {v} is not False: {_SLOW}"]
    if shape is INSTANT and _is_instant(schema):
        return [f'{v} = from_iso(w["S"])', f"if {v}.tzinfo is not UTC: {_SLOW}"]
    if shape is EPOCH and _is_instant(schema):
        return [f'{v} = from_epoch(w["N"])']
    if kind == "enum" and shape is TEXT_ENUM:
        return [f'{v} = {scope.bind({member.value: member for member in schema["members"]}, "members")}[w["S"]]']
    if kind == "literal" and shape is TEXT:
        return [f'{v} = {scope.bind({choice: choice for choice in schema["expected"]}, "choices")}[w["S"]]']
    return None


def _lengths(rules: Schema) -> Schema:
    return {{"min_length": "ge", "max_length": "le"}[name]: value for name, value in rules.items()}


def _outside(v: str, rules: Schema) -> str:
    """Source for: or the value breaks one of the rules."""
    return "".join(f" or not {v} {_BOUNDS[name]} {bound!r}" for name, bound in rules.items() if bound is not None)


def _is_instant(schema: Schema) -> bool:
    """Whether a schema is that of an aware time in UTC and nothing more."""
    if schema["type"] != "function-after" or schema["function"].get("function") is not to_utc:
        return False
    inner = {name: value for name, value in schema["schema"].items() if name not in _SILENT}
    return schema["schema"]["type"] == "datetime" and inner == {"microseconds_precision": "truncate", "tz_constraint": "aware"}


def _is_needed(attribute: Attribute) -> bool:
    return attribute.needed and not attribute.optional


def _opening(spec: Spec[Any], scope: Scope) -> list[str]:
    needed = {attribute.name for attribute in spec.attributes.values() if _is_needed(attribute)}
    return [f"fields = {scope.bind(needed, 'needed')}.copy()"]


def _statement(attribute: Attribute, entry: _Field, v: str, read: list[str]) -> list[str]:
    if _is_needed(attribute):
        return [f"w = item[{attribute.wire!r}]", *read]
    absent = _SLOW if entry.default is None else f"{v} = {entry.default}"
    return [
        f"w = get({attribute.wire!r})",
        f"if w is None: {absent}",
        "else:",
        *(f"  {line}" for line in read),
        f"  fields.add({attribute.name!r})",
    ]


def _instance(fields: Mapping[str, Any]) -> list[str]:
    values = ", ".join(f"{name!r}: v{at}" for at, name in enumerate(fields))
    return ["m = new(entity)", f"set_values(m, {{{values}}})", "set_fields(m, fields)", "set_extra(m, None)", "set_private(m, None)"]


def _remainder(spec: Spec[Any]) -> list[str]:
    """Keep what the entity does not know. All that it knows was counted, so that mostly the number alone shows that there is no more."""
    derived = sorted(spec.derived_names - {attribute.wire for attribute in spec.attributes.values()})
    if len(derived) > _FEW:
        return ["if not known(item): keep(item, m)"]
    return [f"if len(item) != len(fields){''.join(f' + ({name!r} in item)' for name in derived)}: keep(item, m)"]

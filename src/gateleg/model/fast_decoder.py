"""Decoding skips pydantic validation where the wire type already guarantees the result.

For an item of thirty attributes, pydantic's validation takes longer than the rest of decoding. But often the wire type already proves the
result: the text of an `S` is a valid `str`, and an `N` that `int` can parse is a valid `int`. Which fields are that simple is decided once,
from the schema that pydantic compiled; nested models are decoded in the same way. All other fields (UUIDs, custom validators, ...) go
through a validator for that field alone. A model that validates across fields (model validators, private attributes, validators that use
other fields) is left to pydantic entirely.

The generated source never rejects an item. If anything does not fit, it calls the slow decoder, which validates with the model and reports
what is wrong. So the two can differ only on items that both accept.
"""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple

from gateleg.model.shapes import (
    EPOCH,
    FLAG,
    FLOAT,
    INSTANT,
    INTEGER,
    TEXT,
    TEXT_ENUM,
    CodeScope,
    JsonShape,
    ListShape,
    MapShape,
    ModelShape,
    Shape,
    TimeShape,
    attr_type,
    case_of,
    field_names,
    shape_of,
)
from gateleg.model.types import read_annotation
from gateleg.model.validation import (
    Schema,
    resolve_reference,
    schema_for_reading,
    sees_other_fields,
    set_extra,
    set_fields,
    set_private,
    set_values,
    unwrap_schema,
    validator_of,
    with_definitions,
)
from gateleg.model.wire import to_utc
from gateleg.plain import is_plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pydantic import BaseModel

    from gateleg.model.spec import Spec

#: The variable for the value of a field.
VARIABLE = "v_{}"
#: The variable with the wire value of a field that later lines need.
KEPT = "w_{}"
_SLOW = "return slowly(item)"
#: The same inside a record: the entity's decoder catches it and calls the slow decoder.
_FALL_BACK = "raise FallBack"
#: Members of a schema that do not restrict which values are valid.
_SILENT = {"type", "ref", "metadata", "serialization"}
#: Config options of a model that do not change how its fields are decoded.
_HARMLESS = {"title", "extra_fields_behavior"}
#: Members of the schema of a list or dictionary that do not matter for an empty one.
_CONTENTS = {"items_schema", "keys_schema", "values_schema"}
#: Up to this number of derived attributes, counting them is faster than looking up each attribute of the item.
_FEW = 6
#: The integers that attributes hold most often (versions, counts, sequence numbers) by their text: a tenth of the time of calling int().
_SMALL_INTEGERS = {str(number): number for number in range(1000)}
_SETTERS = {"set_values": set_values, "set_fields": set_fields, "set_extra": set_extra, "set_private": set_private}


class FallBack(ValueError):
    """A record that the fast path cannot decode."""


_PLAIN = is_plain("decoder")


class _Field(NamedTuple):
    """How pydantic treats one field: the schema of its value, and source for its default."""

    schema: Schema
    #: None if the field is required
    default: str | None


class _Slot(NamedTuple):
    """Where the value of a field is stored."""

    name: str
    wire: str
    shape: Shape
    #: whether decoding fails for an item without it
    needed: bool
    #: whether it has no default, and is None in an item without it
    absent_is_none: bool = False


def direct_source(spec: Spec[Any], scope: CodeScope, kept: Collection[str] = ()) -> list[str] | None:
    """Lines that decode `item` into the instance `m`, or None if the entity is better left to pydantic.

    The wire values of `kept` attributes remain in variables (`KEPT`) for the lines that follow; None for a missing attribute.
    """
    if _PLAIN:
        return None
    schema, definitions = unwrap_schema(schema_for_reading(spec.entity))
    if not _is_plain(schema, spec.entity):
        return None
    slots = {
        a.name: _Slot(a.name, a.wire, a.shape, a.needed and not a.optional, a.name in spec.none_if_absent) for a in spec.attributes.values()
    }
    scope.names |= {**_SETTERS, "new": object.__new__, "entity": spec.entity, "UTC": UTC, "deepcopy": deepcopy, "FallBack": FallBack}
    scope.names["small_integer"] = _SMALL_INTEGERS.get
    lines = _fields_source(schema, slots, definitions, scope, _SLOW, kept)
    return None if lines is None else [*lines, *_instance(slots, "entity")]


def _fields_source(
    model: Schema, slots: Mapping[str, _Slot], definitions: Mapping[str, Schema], scope: CodeScope, slow: str, kept: Collection[str] = ()
) -> list[str] | None:
    """Lines that decode each field into a variable and leave the names of the present ones in `fields`; None if that gains little."""
    fields = {name: _field(entry["schema"], definitions, scope) for name, entry in model["schema"]["fields"].items()}
    if fields.keys() != slots.keys() or any(entry is None for entry in fields.values()):
        return None
    lines, validated = [f"fields = {scope.bind(set(slots), 'names')}.copy()"], 0
    for name, entry in fields.items():
        assert entry is not None
        slot, v = slots[name], VARIABLE.format(name)
        read = _reading(slot.shape, entry.schema, v, scope, slow)
        if read is None:
            validated += 1
            validator = validator_of(with_definitions(entry.schema, definitions), model.get("config"))
            read = _validated(slot, entry.schema, v, scope, scope.bind(validator.validate_python, f"check_{name}"))
        if slow == _FALL_BACK:
            # In a record, NULL means that the attribute is missing: left to the slow decoder.
            read = [f'if "NULL" in w: {slow}', *read]
        lines += _statement(slot, entry, v, read, slow, KEPT.format(name) if name in kept else "w")
    return None if validated * 2 > len(fields) else lines


def _validated(slot: _Slot, schema: Schema, v: str, scope: CodeScope, check: str) -> list[str]:
    """Statements that decode the wire value `w` with a validator, except for a valid empty list or map."""
    checked = f"{v} = {check}({slot.shape.unpack('w', scope)})"
    empty = {"list": ('{"L": []}', "[]"), "dict": ('{"M": {}}', "{}")}.get(schema["type"])
    if empty is None or not schema.keys() - _SILENT <= _CONTENTS or isinstance(slot.shape, JsonShape):
        return [checked]
    return [f"if w == {empty[0]}: {v} = {empty[1]}", f"else: {checked}"]


def _record(schema: Schema, shape: ModelShape, scope: CodeScope) -> str | None:
    """Compile a function that decodes the content of an M, or raises `FallBack`; return its name, or None to leave it to pydantic."""
    model = shape.model
    if not _is_plain(schema, model) or _refers(schema):
        return None
    slots = {}
    for name, info in model.model_fields.items():
        declared = attr_type(info.annotation)
        wire = field_names(name, info, case_of(model))[0]
        optional = read_annotation(declared).optional
        slots[name] = _Slot(name, wire, shape_of(declared), info.is_required() and not optional, info.is_required() and optional)
    lines = _fields_source(schema, slots, {}, scope, _FALL_BACK)
    if lines is None:
        return None
    name, kind = scope.bind(object(), f"read_{model.__name__}"), scope.bind(model, model.__name__)
    set_to_none = [_set_to_none(slot.name) for slot in slots.values() if slot.absent_is_none]
    lines = ["get = item.get", *lines, f"if len(item) != len(fields): {_FALL_BACK}", *set_to_none, *_instance(slots, kind), "return m"]
    source = "\n".join([f"def {name}(item):", *(f"  {line}" for line in lines)])
    exec(compile(source, f"<reader of {model.__name__}>", "exec"), scope.names)
    return name


def _is_plain(schema: Schema, model: type[BaseModel]) -> bool:
    """Whether a model consists of its fields only, without validation or behaviour across fields."""
    config = schema.get("config", {})
    return (
        schema["type"] == "model"
        and schema["cls"] is model
        and schema["schema"]["type"] == "model-fields"
        and not (schema.get("custom_init") or schema.get("root_model") or schema.get("post_init"))
        and config.keys() <= _HARMLESS
        and config.get("extra_fields_behavior") != "allow"
        and not model.__private_attributes__
        and model.__new__ is object.__new__
        and not sees_other_fields(schema)
    )


def _refers(schema: Any) -> bool:
    """Whether a schema references definitions elsewhere, as the schema of a recursive model does."""
    if isinstance(schema, list | tuple):
        return any(_refers(entry) for entry in schema)
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "definition-ref" or any(_refers(entry) for name, entry in schema.items() if name != "metadata")


def _field(schema: Schema, definitions: Mapping[str, Schema], scope: CodeScope) -> _Field | None:
    """The inner schema and the default of a field; None if the default is validated or replaces invalid values."""
    default = None
    if schema["type"] == "default":
        if schema.get("validate_default") or schema.get("on_error", "raise") != "raise":
            return None
        default = _default(schema, scope)
        schema = schema["schema"]
    # A stored value is never None: None is stored as a missing attribute.
    if schema["type"] == "nullable":
        schema = schema["schema"]
    return _Field(resolve_reference(schema, definitions), default)


def _default(schema: Schema, scope: CodeScope) -> str:
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


def _reading(shape: Shape, schema: Schema, v: str, scope: CodeScope, slow: str) -> list[str] | None:
    """Statements that decode the wire value `w` into `v`, or None if the wire type does not prove that the value is valid."""
    kind = schema["type"]
    rules = {name: value for name, value in schema.items() if name not in _SILENT}
    if isinstance(shape, ModelShape | ListShape) and kind in ("model", "list"):
        records = _reading_records(shape, schema, rules, v, scope, slow)
        if records is not None:
            return records
    if kind == "any" and not rules:
        return [f"{v} = {shape.unpack('w', scope)}"]
    if kind == "str" and shape is TEXT and not rules:
        return [f'{v} = w["S"]', f"if type({v}) is not str: {slow}"]
    if kind == "int" and shape is INTEGER and not rules:
        # With a base, int() accepts only text.
        return [f'{v} = small_integer(w["N"])', f'if {v} is None: {v} = int(w["N"], 10)']
    if kind == "list" and shape == ListShape(TEXT) and rules == {"items_schema": {"type": "str"}}:
        # Faster than a comprehension, which is a function call in Python 3.11, as most lists are short.
        return [f"{v} = []", 'for x in w["L"]:', '  x = x["S"]', f"  if type(x) is not str: {slow}", f"  {v}.append(x)"]
    if kind == "dict" and shape == MapShape(TEXT) and rules == {"keys_schema": {"type": "str"}, "values_schema": {"type": "str"}}:
        read = ['for k, x in w["M"].items():', '  x = x["S"]', f"  if type(x) is not str or type(k) is not str: {slow}", f"  {v}[k] = x"]
        return [f"{v} = {{}}", *read]
    if rules and kind not in ("enum", "literal", "function-after"):
        return None
    if kind == "float" and shape is FLOAT:
        return [f'{v} = float(w["N"])']
    if kind == "bool" and shape is FLAG:
        return [f'{v} = w["BOOL"]', f"if {v} is not True and {v} is not False: {slow}"]
    if shape is INSTANT and _is_instant(schema):
        return [f'{v} = from_iso(w["S"])', f"if {v}.tzinfo is not UTC: {slow}"]
    if isinstance(shape, TimeShape) and _is_instant(schema):
        return [f"{v} = {shape.unpack('w', scope)}", f"if {v}.tzinfo is not UTC: {slow}"]
    if shape is EPOCH and _is_instant(schema):
        return [f'{v} = from_epoch(w["N"])']
    if kind == "enum" and shape is TEXT_ENUM:
        return [f'{v} = {scope.bind({member.value: member for member in schema["members"]}, "members")}[w["S"]]']
    if kind == "literal" and shape is TEXT:
        return [f'{v} = {scope.bind({choice: choice for choice in schema["expected"]}, "choices")}[w["S"]]']
    return None


def _reading_records(shape: Shape, schema: Schema, rules: Schema, v: str, scope: CodeScope, slow: str) -> list[str] | None:
    """As `_reading`, for a record or a list of records."""
    if isinstance(shape, ModelShape) and schema["type"] == "model":
        reader = _record(schema, shape, scope)
        return None if reader is None else [f'{v} = {reader}(w["M"])']
    inner = rules.get("items_schema", {})
    if not (isinstance(shape, ListShape) and isinstance(shape.element, ModelShape) and inner.get("type") == "model"):
        return None
    reader = _record(inner, shape.element, scope) if rules.keys() <= {"items_schema"} else None
    return None if reader is None else [f'{v} = [{reader}(x["M"]) for x in w["L"]]']


def _is_instant(schema: Schema) -> bool:
    """Whether a schema accepts aware times, converts them to UTC, and does nothing else."""
    if schema["type"] != "function-after" or schema["function"].get("function") is not to_utc:
        return False
    inner = {name: value for name, value in schema["schema"].items() if name not in _SILENT}
    return schema["schema"]["type"] == "datetime" and inner == {"microseconds_precision": "truncate", "tz_constraint": "aware"}


def _statement(slot: _Slot, entry: _Field, v: str, read: list[str], slow: str, w: str) -> list[str]:
    assigned = "w" if w == "w" else f"{w} = w"
    if slot.needed:
        return [f"{assigned} = item[{slot.wire!r}]", *read]
    default = "None" if slot.absent_is_none else entry.default
    absent = slow if default is None else f"{v} = {default}; fields.remove({slot.name!r})"
    return [f"{assigned} = get({slot.wire!r})", f"if w is None: {absent}", "else:", *(f"  {line}" for line in read)]


def _instance(fields: Iterable[str], kind: str) -> list[str]:
    values = ", ".join(f"{name!r}: {VARIABLE.format(name)}" for name in fields)
    return [f"m = new({kind})", f"set_values(m, {{{values}}})", "set_fields(m, fields)", "set_extra(m, None)", "set_private(m, None)"]


def _set_to_none(name: str) -> str:
    """A line that counts a field without a default as set, although its None is stored as a missing attribute."""
    return f"if {VARIABLE.format(name)} is None: fields.add({name!r})"


def remainder_source(spec: Spec[Any], present: frozenset[str]) -> list[str]:
    """Lines that keep attributes that the entity does not declare. `present` are derived attributes that the item certainly has.

    It compares the number of attributes with the number of known ones, which is faster than looking up each name.
    """
    return [_unknown_source(spec, present), *map(_set_to_none, sorted(spec.none_if_absent))]


def _unknown_source(spec: Spec[Any], present: frozenset[str]) -> str:
    derived = spec.derived_names - {attribute.wire for attribute in spec.attributes.values()}
    uncertain = sorted(derived - present)
    if len(uncertain) > _FEW:
        return "if not known(item): keep(item, m)"
    certain = f" + {len(derived & present)}" if derived & present else ""
    return f"if len(item) != len(fields){certain}{''.join(f' + ({name!r} in item)' for name in uncertain)}: keep(item, m)"

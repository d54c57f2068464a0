"""An item as typed fields: their values, which can be changed and why others cannot, and the parsed input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from gateleg.host.items import FormResult, instance_of, key_attributes, why_locked
from gateleg.model import States, unknown_attributes
from gateleg.model.shapes import UNKNOWN, attr_type
from gateleg.ops.documents import attribute_comments
from gateleg.ops.explanations import key_forms
from gateleg.ops.plain_json import value_text
from gateleg.ops.values import default_of, type_name
from gateleg.web.console.tables.inputs import BadText, Input, input_for, text_of, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.host.items import Purpose
    from gateleg.model import Item, Spec
    from gateleg.model.attr import Attribute


@dataclass(frozen=True)
class Line:
    """One attribute of an item."""

    input: Input
    wire: str
    text: str
    #: why it cannot be changed here; empty if it can
    locked: str = ""
    #: the value if it is left empty
    default: str = ""
    #: whether it is part of the item's key
    key: bool = False
    #: whether it may be absent
    optional: bool = False


@dataclass(frozen=True)
class DerivedAttribute:
    """An attribute that the model writes: a derived key, a tag, a schema number."""

    name: str
    text: str
    #: how it is derived
    form: str = ""


@dataclass(frozen=True)
class Sheet:
    """An existing or a new item."""

    lines: tuple[Line, ...]
    derived: tuple[DerivedAttribute, ...] = ()
    #: undeclared attributes, which are kept as they are
    unknown: Mapping[str, str] = field(default_factory=dict)


def stored_sheet(spec: Spec[Any], instance: BaseModel, item: Item) -> Sheet:
    """The sheet of a stored item."""
    comments = attribute_comments(spec.entity)
    lines = tuple(_line(spec, attribute, instance.__dict__[attribute.name], "edit", comments) for attribute in _shown(spec))
    unknown = {name: value_text(value) for name, value in unknown_attributes(instance).items()}
    return Sheet(lines, tuple(_derived(spec, item)), unknown)


#: Up to this many absent attributes are shown with the others.
_FEW = 3


def split(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The lines with a value, and those of absent attributes if they are more than a few."""
    absent = [line for line in lines if line.optional and not line.text]
    if len(absent) <= _FEW:
        return list(lines), []
    return [line for line in lines if line not in absent], absent


def new_sheet(spec: Spec[Any], like: BaseModel | None = None) -> Sheet:
    """The fields of a new item, with its defaults, or the values of an item to copy."""
    comments = attribute_comments(spec.entity)
    return Sheet(
        tuple(
            _line(spec, attribute, _initial(attribute, like, attribute.name in spec.counted), "create", comments)
            for attribute in _shown(spec)
        )
    )


def _shown(spec: Spec[Any]) -> list[Attribute]:
    """The components of the key first, then the rest as declared; hidden attributes are omitted."""
    names = {spec.sources[name].attribute for name in spec.key.names}
    attributes = [attribute for attribute in spec.attributes.values() if not attribute.info.exclude]
    return sorted(attributes, key=lambda attribute: attribute.name not in names)


def _initial(attribute: Attribute, like: BaseModel | None, counted: bool) -> Any:
    made = attribute.traits.create_only or attribute.traits.stamp is not None or attribute.is_special("version") or counted
    if like is not None and not made:
        return like.__dict__[attribute.name]
    default = attribute.info.default
    return None if made or default is PydanticUndefined else default


def _line(spec: Spec[Any], attribute: Attribute, value: Any, purpose: Purpose, comments: Mapping[str, str]) -> Line:
    note = attribute.info.description or comments.get(attribute.name, "")
    needed = attribute.info.is_required() and not attribute.optional
    entry = input_for(attribute.name, attribute.annotation, attribute.declared, required=needed, note=note)
    key = attribute.name in key_attributes(spec)
    if purpose == "edit" and isinstance(value, States):
        after = [str(state.value) for state in type(value) if state in value.successors]
        entry = Input(entry.name, entry.kind, entry.type, entry.required, (str(value.value), *after), entry.hint, entry.note)
    text = text_of(entry, value)
    locked = why_locked(spec, attribute, purpose) or (_lossy(spec, attribute, entry, value, text) if value is not None else "")
    return Line(entry, attribute.wire, text, locked, default_of(attribute.info, attribute.traits.stamp), key, attribute.optional)


def object_keys(spec: Spec[Any], instance: BaseModel) -> list[str]:
    """The keys of objects that an item refers to, in attributes and in lists of them."""
    found: list[str] = []
    for attribute in spec.attributes.values():
        value = instance.__dict__[attribute.name]
        if attribute.is_special("s3-key") and isinstance(value, str):
            found.append(value)
        elif isinstance(value, list | tuple | set) and "S3Key" in type_name(attribute.annotation):
            found += [entry for entry in value if isinstance(entry, str)]
        elif isinstance(value, BaseModel):
            found += [inner for name, inner in value.__dict__.items() if isinstance(inner, str) and _marked_inside(value, name)]
    return list(dict.fromkeys(found))


def _marked_inside(record: BaseModel, name: str) -> bool:
    info = type(record).model_fields.get(name)
    return info is not None and "S3Key" in type_name(attr_type(info.annotation))


def _lossy(spec: Spec[Any], attribute: Attribute, entry: Input, value: Any, text: str) -> str:
    """Why a value cannot be converted to text and back without loss; empty if it can."""
    source = spec.sources[attribute.name]
    try:
        again = attribute.attr.validate(value_of(entry, text, attribute.declared))
        same = source.pack(again) == source.pack(value)
    except Exception:  # anything that a custom type of the application raises
        same = False
    return "" if same else "Contains more than a field can show. Edit it as DynamoDB JSON."


def _derived(spec: Spec[Any], item: Item) -> Iterator[DerivedAttribute]:
    forms: dict[str, str] = {}
    for plan in (*spec.indexes.values(), spec.key):
        forms |= {name: form for name, form in key_forms(plan).items() if name in spec.derived_names}
    for name in (*forms, *sorted(spec.derived_names - forms.keys())):
        if name in item:
            yield DerivedAttribute(name, value_text(item[name]), forms.get(name, ""))


def fill(spec: Spec[Any], sheet: Sheet, texts: Mapping[str, str], before: BaseModel | None = None) -> FormResult:
    """The instance of the input. Unchanged fields stay exactly as they were read."""
    values: dict[str, Any] = dict(before.__dict__) if before is not None else {}
    unknown = values.pop(UNKNOWN, None)
    problems: dict[str, str] = {}
    for line in sheet.lines:
        entry, text = line.input, texts.get(line.input.name, line.text)
        if line.locked or (before is not None and text == line.text):
            continue
        try:
            _take(spec, line, text, values)
        except BadText as error:
            problems[entry.name] = str(error)
    if problems:
        return FormResult(problems=problems)
    return instance_of(spec, values, unknown)


def _take(spec: Spec[Any], line: Line, text: str, values: dict[str, Any]) -> None:
    """Parse the value of one line; empty text means no value, or the default for a new item."""
    name = line.input.name
    attribute = spec.attributes[name]
    if text.strip() or (text and line.input.kind == "text"):
        values[name] = value_of(line.input, text, attribute.declared)
    elif attribute.optional:
        values[name] = None
    elif line.input.required:
        raise BadText("This field is required.")
    elif line.input.kind == "text" and name in values:
        values[name] = ""
    else:
        values.pop(name, None)

"""The generated codec of an entity: straight-line source for each direction, compiled once, at the first use of the entity.

The generated source assumes a well-formed item. If anything is missing or has another type, the item is decoded again attribute by
attribute (`SlowDecoder`), which either succeeds (a NULL for an optional attribute, a component that only the key contains) or reports
exactly what is wrong. Fields are decoded without pydantic where possible (`fast_decoder`); an entity whose validators see several fields is
unpacked by generated source and validated by pydantic, which takes a third of the time of the slow decoder.

An instance keeps how its item is stored where the model would write it differently: see `stored_forms`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from gateleg.model.errors import DecodeError, EncodeError, ModelError, WrongEntity
from gateleg.model.fast_decoder import KEPT, VARIABLE, direct_source, remainder_source
from gateleg.model.key_text import render_source
from gateleg.model.keys import empty_key, shard_of, sharded
from gateleg.model.shapes import BINARY, INSTANT, TEXT, UNKNOWN, UUID_TEXT, CodeScope, SetShape
from gateleg.model.stored_forms import STORED, compared_sources, keep_stored_form, may_differ, stored_key, upcast
from gateleg.model.types import empty_is_absent
from gateleg.model.validation import reading_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateleg.model.attr import Attribute
    from gateleg.model.key_parts import TextKey
    from gateleg.model.keys import KeyField, KeyPlan
    from gateleg.model.spec import Spec
    from gateleg.model.wire import Item, Value

E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True)
class Codec(Generic[E]):
    """The compiled functions of an entity, and the source that they were compiled from."""

    encode: Callable[[E], Item]
    decode: Callable[[Item], E]
    decode_partial: Callable[[Item], dict[str, Any]]
    source: str


def build_codec(spec: Spec[E]) -> Codec[E]:
    """Generate and compile the codec of an entity."""
    scope = CodeScope()
    reader = SlowDecoder(spec)
    scope.names |= {
        "ModelError": ModelError,
        "cannot_encode": lambda instance, error: _cannot_encode(spec, instance, error),
        "shard": lambda item, shards: shard_of({name: item[name] for name in spec.table.attributes}, shards),
        "sharded": sharded,
        "validate": reader.validate,
        "known": frozenset(reader.known).issuperset,
        "keep": reader.keep,
        "empty": empty_key,
        "slowly": reader.read,
        "wrong": reader.wrong,
        "aged": reader.aged,
        "stored_key": lambda values: stored_key(spec.with_members(values)),
        "keep_form": lambda item, instance: keep_stored_form(spec, item, instance),
    }
    source = "\n".join([*_encoder(spec, scope), *_decoder(spec, scope)]) + "\n"
    exec(compile(source, f"<codec of {spec.name}>", "exec"), scope.names)
    return Codec(scope.names["encode"], scope.names["decode"], reader.partial, source)


#: Source for the value of an attribute in `d`, the `__dict__` of an instance.
_VALUE = "d[{!r}]"
#: The variable that keeps the text of a UUID, because an item often contains it as an attribute and again in its keys.
_UUID = "uuid_{}"


def _access(spec: Spec[Any], name: str, value: str = _VALUE) -> str:
    """Source for the value of a key component; `value` is the source pattern for an attribute's value."""
    source = spec.sources[name]
    return value.format(source.attribute) + (f".{source.member}" if source.member else "")


def _is_uuid(attribute: Attribute) -> bool:
    """Whether the attribute is a UUID that every item of the entity has."""
    return attribute.shape is UUID_TEXT and _always(attribute)


def _always(attribute: Attribute) -> bool:
    """Whether every item has the attribute: it is never None, nor a set, which may be empty."""
    return not attribute.optional and not isinstance(attribute.shape, SetShape) and attribute.declared.type is not Any


def _encoder(spec: Spec[Any], scope: CodeScope) -> list[str]:
    lines = ["def encode(e):", "  try:", "    d = e.__dict__", *_empty_checks(spec), "    item = {"]
    lines += [f"      {a.wire!r}: {_packed(a, scope)}," for a in spec.attributes.values() if _always(a)]
    lines += [f"      {entry.attribute!r}: {_key_source(spec, entry, scope)}," for entry in spec.key.derived]
    if spec.tag is not None and spec.table.tag is not None:
        lines.append(f"      {spec.table.tag!r}: {{'S': {spec.tag!r}}},")
    if spec.schema > 1:
        lines.append(f"      {spec.table.schema!r}: {{'N': {str(spec.schema)!r}}},")
    lines += ["    }", f"    if {STORED!r} in d: item.update(stored_key(d) or ())"]
    for attribute in spec.attributes.values():
        if not _always(attribute):
            empty = isinstance(attribute.shape, SetShape) and empty_is_absent(attribute.info)
            test = "v" if empty else "v is not None"
            lines += [f"    v = d[{attribute.name!r}]", f"    if {test}: item[{attribute.wire!r}] = {attribute.shape.pack('v', scope)}"]
    for source in spec.denormalised():
        lines += [f"    v = d[{source.attribute!r}]"]
        lines += [f"    if v is not None: item[{source.wire!r}] = {source.shape.pack(f'v.{source.member}', scope)}"]
    for name, (wire, shape) in spec.computed.items():
        lines += [f"    v = e.{name}", f"    if v is not None: item[{wire!r}] = {shape.pack('v', scope)}"]
    for plan in spec.indexes.values():
        lines += _index_source(spec, plan, scope)
    return [
        *lines,
        f"    if {UNKNOWN!r} in d: item = {{**d[{UNKNOWN!r}], **item}}",
        "    return item",
        "  except ModelError: raise",
        "  except Exception as error: raise cannot_encode(e, error) from error",
    ]


def _packed(attribute: Attribute, scope: CodeScope) -> str:
    """Source for the wire value of an attribute; keeps the text of a UUID in a variable for the keys."""
    v = _VALUE.format(attribute.name)
    if not _is_uuid(attribute):
        return attribute.shape.pack(v, scope)
    return f'{{"S": ({_UUID.format(attribute.name)} := {UUID_TEXT.text(v)})}}'


def _empty_checks(spec: Spec[Any]) -> list[str]:
    """Lines that refuse empty text or binary in attributes that are used as keys directly."""
    sources = {entry.source.name: entry.source for plan in (spec.key, *spec.indexes.values()) for entry in plan.fields if entry.source}
    checked = [source for source in sources.values() if source.shape in (TEXT, BINARY)]
    return [
        f"    if {_access(spec, source.name)} == {'b' if source.shape is BINARY else ''}'': empty({spec.name!r}, {source.name!r})"
        for source in checked
        if not (source.member and spec.attributes[source.attribute].optional)
    ]


def _key_source(spec: Spec[Any], entry: KeyField, scope: CodeScope, value: str = _VALUE) -> str:
    """Source for the wire value of a derived key attribute, given all its components."""
    if entry.text is None:
        assert entry.source is not None
        return entry.source.shape.pack(_access(spec, entry.source.name, value), scope)
    return f'{{"S": {_text_source(spec, entry, entry.text, scope, value)}}}'


def _text_source(spec: Spec[Any], entry: KeyField, text: TextKey, scope: CodeScope, value: str = _VALUE) -> str:
    """Source for the text of a key attribute with a template."""
    pieces = [repr(text.template.literals[0])] if text.template.literals[0] else []
    for name, component, literal in zip(entry.names, text.components, text.template.literals[1:], strict=True):
        if name in spec.attributes and _is_uuid(spec.attributes[name]):
            pieces.append(_UUID.format(name))
        else:
            pieces.append(render_source(component, _access(spec, name, value), scope.bind(component.render, "render")))
        if literal:
            pieces.append(repr(literal))
    return " + ".join(pieces)


def _index_source(spec: Spec[Any], plan: KeyPlan, scope: CodeScope) -> list[str]:
    """Lines that write the derived key attributes of one index, if the item belongs in the index."""
    known = {entry.attribute for entry in spec.key.derived}
    derived = [entry for entry in plan.derived if entry.attribute not in known]
    if not derived:
        return []
    tests = [f"{_access(spec, name)} is not None" for name in plan.names if spec.attributes[spec.sources[name].attribute].optional]
    tests += [f"{_access(spec, name)} in {scope.bind(frozenset(allowed), 'allowed')}" for name, allowed in plan.when.items()]
    pad = "      " if tests else "    "
    lines = [f"    if {' and '.join(tests)}:"] if tests else []
    for entry in derived:
        text = _key_source(spec, entry, scope)
        if entry is plan.hash[0] and plan.shards > 1:
            text = f'{{"S": sharded({text}["S"], shard(item, {plan.shards}))}}'
        elif entry.text is None and entry.source is not None and entry.source.wire in {a.wire for a in spec.attributes.values()}:
            text = f"item[{entry.source.wire!r}]"
        lines.append(f"{pad}item[{entry.attribute!r}] = {text}")
    return lines


def _cannot_encode(spec: Spec[Any], instance: Any, error: Exception) -> EncodeError:
    for attribute in spec.attributes.values():
        value = instance.__dict__.get(attribute.name)
        if value is not None:
            try:
                spec.sources[attribute.name].pack(value)
            except Exception as reason:
                return EncodeError(f"{spec.name}.{attribute.name} = {value!r} cannot be written: {reason}.")
    return EncodeError(f"{instance!r} cannot be written as {spec.name}: {type(error).__name__}: {error}.")


def _decoder(spec: Spec[Any], scope: CodeScope) -> list[str]:
    lines = ["def decode(item):", "  get = item.get"]
    if spec.tag is not None and spec.table.tag is not None:
        lines += [f"  w = get({spec.table.tag!r})", f"  if w is not None and w.get('S') != {spec.tag!r}: wrong(item)"]
    if spec.schema > 1:
        lines += [f"  if get({spec.table.schema!r}) != {{'N': {str(spec.schema)!r}}}: item = aged(item); get = item.get"]
    kept = _kept_attributes(spec)
    direct = direct_source(spec, scope, kept.values())
    if direct is not None:
        # `_form_check` fails for an item without one of these attributes, so the source after it can rely on them.
        texts = frozenset(entry.attribute for entry in spec.key.fields if entry.text is not None)
        read = [*direct, *_form_check(spec, scope, VARIABLE, "keep_form(item, m); keep(item, m)", kept), *remainder_source(spec, texts)]
    else:
        read = [*_validated_source(spec, scope), "d = m.__dict__", *_form_check(spec, scope, _VALUE, "keep_form(item, m)")]
    return [*lines, "  try:", *(f"    {line}" for line in read), "  except Exception: return slowly(item)", "  return m"]


def _kept_attributes(spec: Spec[Any]) -> dict[str, str]:
    """The attributes whose wire values `_form_check` needs, by wire name: UUIDs in the key, and times that conditions compare."""
    uuids = {a.wire: a.name for a in spec.attributes.values() if a.name in spec.key.names and _is_uuid(a)}
    times = {source.wire: source.name for source in compared_sources(spec) if source.shape is INSTANT}
    return {wire: name for wire, name in (uuids | times).items() if name in spec.attributes}


def _form_check(spec: Spec[Any], scope: CodeScope, value: str, keep_form: str, kept: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Lines that run the statement `keep_form` if the item is stored in a form that the model would not write: see `stored_forms`.

    They run for every item that is read, so they compare texts rather than wire values, and take the text of a UUID from the item: a valid
    UUID of 36 characters is, in lower case, what the model writes. `kept` are the attributes, by wire name, whose wire values are in
    variables.
    """

    def stored(wire: str) -> str:
        return KEPT.format(kept[wire]) if wire in kept else f"get({wire!r})"

    uuids = [attribute for attribute in spec.attributes.values() if attribute.name in spec.key.names and _is_uuid(attribute)]
    tests = [f'len({_UUID.format(a.name)} := {stored(a.wire)}["S"].lower()) != 36' for a in uuids]
    for entry in spec.key.fields:
        if entry.source is not None and entry.source.shape is INSTANT:
            tests.append(_other_time_form(stored(entry.attribute)))
        elif entry.text is not None:
            tests.append(f'item[{entry.attribute!r}]["S"] != {_text_source(spec, entry, entry.text, scope, value)}')
        elif may_differ(entry.source):
            tests.append(f"get({entry.attribute!r}) != {_key_source(spec, entry, scope, value)}")
    for source in compared_sources(spec):
        v = _access(spec, source.name, value)
        odd = f"{v} is not None and get({source.wire!r}) != {source.shape.pack(v, scope)}"
        tests.append(_other_time_form(stored(source.wire)) if source.shape is INSTANT else f"({odd})")
    return [f"if {' or '.join(tests)}: {keep_form}"] if tests else []


def _validated_source(spec: Spec[Any], scope: CodeScope) -> list[str]:
    """Lines that decode `item` into the instance `m` with the model's validator."""
    needed = [attribute for attribute in spec.attributes.values() if attribute.needed and not attribute.optional]
    lines = ["d = {", *(f"  {a.name!r}: {a.shape.unpack(f'item[{a.wire!r}]', scope)}," for a in needed), "}"]
    for attribute in spec.attributes.values():
        if attribute not in needed:
            lines += [f"w = get({attribute.wire!r})"]
            lines += [f"if w is not None: d[{attribute.name!r}] = {attribute.shape.unpack('w', scope)}"]
            if attribute.name in spec.none_if_absent:
                lines += [f"else: d[{attribute.name!r}] = None"]
    return [*lines, "m = validate(d)", "if not known(item): keep(item, m)"]


def _other_time_form(stored: str) -> str:
    """Source for whether a time is stored in another form than the model's (six decimal places, then Z)."""
    return f'((w := {stored}) is not None and (len(t := w["S"]) != 27 or t[10] != "T" or t[26] != "Z"))'


class SlowDecoder(Generic[E]):
    """Decodes an item attribute by attribute, for items that the generated source cannot decode; keeps unknown attributes."""

    def __init__(self, spec: Spec[E]) -> None:
        self.spec = spec
        self.known = {attribute.wire for attribute in spec.attributes.values()} | spec.derived_names
        self.validate = reading_validator(spec.entity)
        #: converts an item that other programs have written into the model's form, if the entity defines it
        self.in_model_form: Callable[[Item], Item] | None = getattr(spec.entity, "__read_foreign__", None)

    def keep(self, item: Item, instance: E) -> None:
        """Keep the attributes that the entity does not declare, so that writing the item back does not lose them."""
        unknown = {name: value for name, value in item.items() if name not in self.known}
        if unknown:
            vars(instance)[UNKNOWN] = unknown

    def wrong(self, item: Item) -> None:
        """Raise `WrongEntity` for an item with another tag."""
        tag = item[self.spec.table.tag or ""].get("S")
        raise WrongEntity(f"Item {self._key_text(item)} is a {tag!r}, not a {self.spec.tag!r}.", ref=self.spec.ref_of(item))

    def aged(self, item: Item) -> Item:
        """Upcast an item of an older schema."""
        return upcast(item, self.spec)

    def read(self, item: Item) -> E:
        """Decode an item attribute by attribute; raise `DecodeError` with all problems."""
        stored = item
        if self.in_model_form is not None:
            item = self.in_model_form(item)
        values, problems = self._values(item)
        missing = [a for a in self.spec.attributes.values() if a.needed and a.name not in values and not a.optional]
        absent = [a for a in self.spec.attributes.values() if a.needed and a.name not in values and a.optional]
        if missing or absent:
            parsed = self._from_key(item)
            values |= {attribute.name: parsed[attribute.name] for attribute in missing if attribute.name in parsed}
            values |= {attribute.name: parsed.get(attribute.name) for attribute in absent}
        problems += [f"{_full_name(a)} is missing" for a in missing if a.name not in values and not _is_reported(problems, a)]
        if not problems:
            try:
                instance: E = self.validate(values)
            except ValidationError as error:
                problems = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()]
            else:
                self.keep(item, instance)
                keep_stored_form(self.spec, stored, instance)
                return instance
        raise self._refused(item, problems)

    def _refused(self, item: Item, problems: list[str]) -> DecodeError:
        message = f"Item {self._key_text(item)} is not a valid {self.spec.name}: {'; '.join(problems)}."
        return DecodeError(message, problems=problems, ref=self.spec.ref_of(item))

    def partial(self, item: Item) -> dict[str, Any]:
        """The attributes of a projected item, by Python name, including those that only its keys contain."""
        try:
            return self._partial(item)
        except DecodeError:
            if self.in_model_form is None:
                raise
        return self._partial(self.in_model_form(item))

    def _partial(self, item: Item) -> dict[str, Any]:
        values, problems = self._values(item)
        values = {**{name: value for name, value in self._from_key(item).items() if name in self.spec.attributes}, **values}
        checked: dict[str, Any] = {}
        for name, value in values.items():
            try:
                checked[name] = self.spec.attributes[name].attr.read(value)
            except ModelError as error:
                problems.append(error.message)
        if problems:
            raise self._refused(item, problems)
        return checked

    def _values(self, item: Item) -> tuple[dict[str, Any], list[str]]:
        values: dict[str, Any] = {}
        problems: list[str] = []
        for attribute in self.spec.attributes.values():
            value = item.get(attribute.wire)
            if value is None or ("NULL" in value and attribute.optional):
                continue
            try:
                values[attribute.name] = self.spec.sources[attribute.name].unpack(value)
            except Exception as error:
                problems.append(_mismatch(attribute, value, error))
        return values, problems

    def _from_key(self, item: Item) -> dict[str, Any]:
        parsed: dict[str, Any] = {}
        for plan in (self.spec.key, *self.spec.indexes.values()):
            try:
                parsed = {**plan.parse(item), **parsed}
            except (ModelError, KeyError, TypeError, ValueError):
                continue
        return parsed

    def _key_text(self, item: Item) -> str:
        return str({name: next(iter(item[name].values()), None) for name in self.spec.table.attributes if name in item})


def _is_reported(problems: list[str], attribute: Attribute) -> bool:
    """Whether a problem with the attribute is already listed."""
    return any(problem.startswith((f"{attribute.name} ", f"{attribute.name}:")) for problem in problems)


def _mismatch(attribute: Attribute, value: Value, error: Exception) -> str:
    tag = next(iter(value), "nothing")
    if attribute.shape.tag and tag != attribute.shape.tag:
        return f"{_full_name(attribute)} has type {tag}, expected {attribute.shape.tag}"
    return f"{_full_name(attribute)}: {error}"


def _full_name(attribute: Attribute) -> str:
    """The attribute's name, with the one in the item if that is different."""
    return attribute.name if attribute.name == attribute.wire else f"{attribute.name} ({attribute.wire})"

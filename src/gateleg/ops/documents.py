"""The schema document of a table, generated from its declaration: keys, indexes, attributes, states and access patterns.

The `#:` comments above attributes, read from the source.

Mermaid diagrams of tables with their indexes, and of states.
"""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from gateleg.model.inspection import lint
from gateleg.model.shapes import attr_type, case_of, field_names
from gateleg.model.types import traits_of
from gateleg.ops.explanations import explain, key_forms
from gateleg.ops.values import constraints, default_of, type_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gateleg.model import Access, Index, Spec, States, Table
    from gateleg.model.keys import KeyPlan

__all__ = ["attribute_comments"]


_TYPES = {"S": "text", "N": "number", "B": "binary"}


def document(table: Table) -> str:
    """The Markdown document of a table."""
    blocks = [f"# {table.name}", *_overview(table), "## Keys and indexes", table_diagram(table), _indexes(table)]
    if table.ttl() is not None:
        blocks.append(f"Items expire by `{table.ttl()}`.")
    if table.stream is not None:
        blocks.append(f"Its stream has the view `{table.stream}`.")
    patterns = [access for spec in table.specs for access in spec.patterns.values()]
    if patterns:
        blocks += ["## Access patterns", _pattern_table(patterns), *(block for access in patterns for block in _pattern(access))]
    for spec in table.specs:
        blocks += _entity(spec)
    blocks += _remarks(table)
    return "\n\n".join(blocks) + "\n"


def _overview(table: Table) -> Iterator[str]:
    if table.specs:
        yield "\n".join(f"- **{spec.name}**: {spec.doc or 'an item of the table'}" for spec in table.specs)


def _indexes(table: Table) -> str:
    types = table.key_types()
    rows = []
    for index in (table.primary, *table.indexes):
        kind = "table" if not index.name else "local" if index.local else "global"
        projects = {"all": "everything", "keys": "keys only"}.get(str(index.project)) or ", ".join(index.project)
        rows.append([_code(index.name) or "the table", kind, _typed(index.hash, types), _typed(index.range, types), projects])
    return _grid(["", "kind", "hash", "range", "holds"], rows)


def _typed(names: Iterable[str], types: dict[str, Any]) -> str:
    return ", ".join(f"`{name}` ({_TYPES[types[name]]})" for name in names)


def _pattern_table(patterns: Sequence[Access[Any]]) -> str:
    rows = [
        [_code(access.name), access.pattern.title, _arguments(access), _code(access.plan.index.name) or "the table"] for access in patterns
    ]
    return _grid(["pattern", "title", "arguments", "index"], rows)


def _arguments(access: Access[Any]) -> str:
    return ", ".join([*(_code(name) for name in access.required), *(f"[`{name}`]" for name in access.optional)])


def _pattern(access: Access[Any]) -> Iterator[str]:
    explanation = explain(access)
    yield f"### {access.name}"
    yield f"{explanation.title}." + (f" {explanation.description}" if explanation.description else "")
    facts = [
        f"- condition: `{explanation.condition}`",
        f"- order: {explanation.order}",
        f"- consistent reads: {'yes' if explanation.consistent else 'no'}",
    ]
    yield "\n".join(facts + [f"- {remark}" for remark in explanation.remarks])
    yield f"```json\n{json.dumps(explanation.requests[0], indent=2, ensure_ascii=False)}\n```"


def _entity(spec: Spec[Any]) -> Iterator[str]:
    yield f"## {spec.name}"
    if spec.doc:
        yield spec.doc
    if spec.tag is not None:
        yield f"Its items have `{spec.table.tag}` = `{spec.tag}`."
    yield _grid(["key of", "template", "only when"], list(_key_rows(spec)))
    yield _grid(["attribute", "on the wire", "type", "default", "limits", ""], list(_attribute_rows(spec)))
    for unique in spec.uniques.values():
        yield f"Unique: {', '.join(f'`{name}`' for name in unique.by)} together" + (", ignoring case." if unique.ignore_case else ".")
    for attribute in spec.attributes.values():
        if attribute.state:
            yield f"### States of {spec.name}.{attribute.name}"
            yield state_diagram(attribute.declared.type)
    seen: dict[type[BaseModel], None] = {}
    for attribute in spec.attributes.values():
        _collect(attribute.annotation, seen)
    for model in seen:
        yield f"### {model.__name__}"
        yield (model.__doc__ or "").strip().split("\n")[0] or "A nested value."
        yield _grid(["attribute", "on the wire", "type", "default", "limits", ""], list(_nested_rows(model)))


def _key_rows(spec: Spec[Any]) -> Iterator[list[str]]:
    plans: list[tuple[str, KeyPlan]] = [("the table", spec.key), *((f"`{name}`", plan) for name, plan in spec.indexes.items())]
    for name, plan in plans:
        forms = ", ".join(f"`{attribute}` = `{form}`" for attribute, form in key_forms(plan).items())
        if plan.shards > 1:
            forms += f", over {plan.shards} shards"
        when = "; ".join(f"`{name}` is {' or '.join(map(str, values))}" for name, values in plan.when.items())
        yield [name, forms, when]
        for old in plan.legacy:
            yield [f"{name}, legacy key", ", ".join(f"`{attribute}` = `{form}`" for attribute, form in key_forms(old).items()), "reading"]


def _attribute_rows(spec: Spec[Any]) -> Iterator[list[str]]:
    comments = attribute_comments(spec.entity)
    for attribute in spec.attributes.values():
        limits = constraints((*attribute.declared.metadata, *attribute.info.metadata))
        default = default_of(attribute.info, attribute.traits.stamp) or "**required**"
        note = attribute.info.description or comments.get(attribute.name, "")
        yield [_code(attribute.name), _code(attribute.wire), _code(type_name(attribute.annotation)), default, ", ".join(limits), note]


def _nested_rows(model: type[BaseModel]) -> Iterator[list[str]]:
    comments = attribute_comments(model)
    for name, info in model.model_fields.items():
        annotation = attr_type(info.annotation)
        wire, _ = field_names(name, info, case_of(model))
        default = default_of(info, traits_of(info).stamp) or "**required**"
        note = info.description or comments.get(name, "")
        yield [_code(name), _code(wire), _code(type_name(annotation)), default, ", ".join(constraints(info.metadata)), note]


def _collect(annotation: Any, seen: dict[type[BaseModel], None]) -> None:
    """The models in an annotation, recursively."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in seen:
        seen[annotation] = None
        for info in annotation.model_fields.values():
            _collect(attr_type(info.annotation), seen)
    for argument in get_args(annotation):
        _collect(argument, seen)


def _remarks(table: Table) -> Iterator[str]:
    findings = lint(table)
    if findings:
        yield "## Remarks"
        yield "\n".join(f"- `{finding.where}`: {finding.message} {finding.fix} ({finding.code})" for finding in findings)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table without its empty columns."""
    kept = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    lines = [[heads[at] for at in kept], ["---"] * len(kept), *([row[at].replace("|", "\\|") for at in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_COMMENT = re.compile(r"\s*#:\s?(.*)")
_ATTRIBUTE = re.compile(r"\s*(\w+)\s*:[^=]")


def attribute_comments(entity: type) -> dict[str, str]:
    """The comments of an entity's attributes, including inherited ones, by attribute; empty if the source is not available."""
    found: dict[str, str] = {}
    for owner in reversed(entity.__mro__):
        if owner.__module__.split(".")[0] not in ("builtins", "pydantic") and owner.__module__ != "gateleg.model.entity":
            found |= _comments(owner)
    return found


def _comments(owner: type) -> dict[str, str]:
    try:
        lines = inspect.getsource(owner).splitlines()
    except (OSError, TypeError):
        return {}
    found: dict[str, str] = {}
    pending: list[str] = []
    for line in lines:
        if comment := _COMMENT.fullmatch(line):
            pending.append(comment[1].strip())
            continue
        if pending and (attribute := _ATTRIBUTE.match(line)):
            found[attribute[1]] = " ".join(pending)
        pending = []
    return found


def table_diagram(table: Table) -> str:
    """The table, the entities it holds, and the indexes they are in."""
    lines = ["flowchart LR", f"    table[({_label(table.name, table.attributes)})]"]
    for number, spec in enumerate(table.specs):
        lines.append(f"    entity{number}[{_quoted(spec.name)}] --> table")
    for number, index in enumerate(table.indexes):
        shape = "{{" + _label(index.name, index.attributes) + "}}" if index.local else f"([{_label(index.name, index.attributes)}])"
        lines.append(f"    table -- {_quoted(_edge(table, index))} --> index{number}{shape}")
    return _fenced(lines)


def _edge(table: Table, index: Index) -> str:
    """The label of the edge to an index: all items or, in tables with several entities, which ones."""
    inside = [spec for spec in table.specs if index.name in spec.indexes]
    names = "" if len(inside) == len(table.specs) else ", ".join(spec.name for spec in inside) or "nothing"
    sparse = any(spec.indexes[index.name].when for spec in inside)
    kind = "local" if index.local else "global"
    return ", ".join(filter(None, (f"sparse {kind}" if sparse else kind, names)))


def _label(name: str, attributes: tuple[str, ...]) -> str:
    return _quoted(f"{name}<br/>{', '.join(attributes)}")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;") + '"'


def state_diagram(states: type[States]) -> str:
    """The transitions of a state attribute, from the initial to the final states."""
    members = list(states)
    names = {member: _identifier(str(member.value)) for member in members}
    lines = ["stateDiagram-v2"]
    lines += [f"    {names[member]} : {member.value}" for member in members if names[member] != member.value]
    if members:
        lines.append(f"    [*] --> {names[members[0]]}")
    for member in members:
        lines += [f"    {names[member]} --> {names[target]}" for target in members if target in member.successors]
        if member.final:
            lines.append(f"    {names[member]} --> [*]")
    return _fenced(lines)


def _identifier(text: str) -> str:
    """A valid Mermaid identifier for a state, avoiding its keywords."""
    name = re.sub(r"\W", "_", text)
    return f"{name}_" if name.lower() in ("end", "state", "note", "direction") else name


def _fenced(lines: list[str]) -> str:
    return "\n".join(["```mermaid", *lines, "```"])

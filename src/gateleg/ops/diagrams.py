"""Mermaid diagrams of tables with their indexes, and of states."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.model import Index, States, Table


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

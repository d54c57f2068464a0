"""Build references from the components of a primary key, with a function that is compiled once for each entity.

It handles components that already have exactly the declared types: they need no validation, and the key is built by a single expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model.codec.shapes import CodeScope
from gateleg.model.keys.components import IntegerComponent, TextComponent, render_source
from gateleg.model.keys.parts import KeyPart
from gateleg.model.keys.plans import Ref
from gateleg.model.keys.templates import HIGH

if TYPE_CHECKING:
    from gateleg.model.keys.components import Component
    from gateleg.model.keys.plans import KeyField, KeyPlan
    from gateleg.model.keys.sources import KeySource

E = TypeVar("E", bound=BaseModel)
#: From components of exactly the declared types to a reference; None for other components, which must be validated first.
RefBuilder = Callable[[Mapping[str, Any]], Ref[E] | None]


def compile_ref(entity: type[E], key: KeyPlan, sources_by_name: Mapping[str, KeySource]) -> RefBuilder[E]:
    """Compile the function that builds references to an entity's items."""
    sources = [sources_by_name[name] for name in key.names]
    if not sources or not all(map(_is_exact, sources)):
        return lambda given: None
    scope, tests = CodeScope(), [f"len(given) == {len(sources)}"]
    for source in sources:
        tests.append(f"type(v_{source.name} := given[{source.name!r}]) is {scope.bind(source.declared.type, 'kind')}")
        if source.declared.type in (str, bytes):
            # Leave empty text to the validating path, which raises an error with the component's name.
            tests.append(f"v_{source.name}")
    fields = ", ".join(f"{entry.attribute!r}: {_field(entry, scope, tests)}" for entry in key.fields)
    ref = f"{scope.bind(Ref, 'Ref')}({scope.bind(entity, 'entity')}, given, {{{fields}}})"
    lines = ["def build(given):", f"  try: return {ref} if {' and '.join(tests)} else None", "  except KeyError: return None"]
    exec(compile("\n".join(lines), f"<key of {entity.__name__}>", "exec"), scope.names)
    builder: RefBuilder[E] = scope.names["build"]
    return builder


def _is_exact(source: KeySource) -> bool:
    """Whether a value of exactly the declared type needs no validation. A key part does: it also provides its fields."""
    kind = source.declared.type
    return isinstance(kind, type) and not issubclass(kind, KeyPart) and not source.declared.metadata


def _field(entry: KeyField, scope: CodeScope, tests: list[str]) -> str:
    """Source for the wire value of one key attribute; appends the conditions that it relies on to `tests`."""
    if entry.text is None:
        assert entry.source is not None
        return entry.source.shape.pack(f"v_{entry.source.name}", scope)
    template = entry.text.template
    pieces = [repr(template.literals[0])]
    for name, component, literal in zip(template.names, entry.text.components, template.literals[1:], strict=True):
        pieces += [_rendered(component, f"v_{name}", scope, tests), repr(literal)]
    return f'{{"S": {" + ".join(piece for piece in pieces if piece != repr(""))}}}'


def _rendered(component: Component, v: str, scope: CodeScope, tests: list[str]) -> str:
    """Source for the text of a component; plain text and padded numbers, the most frequent ones, are rendered without a function call."""
    if isinstance(component, TextComponent) and not component.fold:
        tests += [f"{delimiter!r} not in {v}" for delimiter in (*component.delimiters, HIGH)]
        return v
    if isinstance(component, IntegerComponent) and component.width and not component.descending:
        tests.append(f"0 <= {v} < {10**component.width}")
        return f"str({v}).zfill({component.width})"
    return render_source(component, v, scope.bind(component.render, "render"))

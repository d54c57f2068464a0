"""The short way from a key's components to the key on the wire, for the most frequent request of all.

Values that already have the declared type need no validation. For each entity a function is generated that checks just that and builds
the key; whatever else it is given goes the long way, which validates, converts and explains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from gateleg.model import spec_of
from gateleg.model.components import render_source

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model import Item, Spec
    from gateleg.model.keys import KeyField

QuickKey = Callable[[Mapping[str, Any]], "Item | None"]


@cache
def quick_key(entity: type[BaseModel]) -> tuple[Spec[Any], QuickKey]:
    """The entity's spec, and a function that builds its key from components of exactly the declared types, or answers None."""
    spec = spec_of(entity)
    sources = [spec.sources[name] for name in spec.key.names]
    if not sources or any(source.declared.metadata or not isinstance(source.declared.type, type) for source in sources):
        return spec, _never
    scope: dict[str, Any] = {f"kind_{source.name}": source.declared.type for source in sources}
    tests = " and ".join(f"type(given.get({source.name!r})) is kind_{source.name}" for source in sources)
    fields = ", ".join(f"{entry.attribute!r}: {_field(entry, scope)}" for entry in spec.key.fields)
    text = f"lambda given: {{{fields}}} if len(given) == {len(sources)} and {tests} else None"
    function: QuickKey = eval(text, scope)
    return spec, function


def _never(given: Mapping[str, Any]) -> Item | None:
    return None


def _field(entry: KeyField, scope: dict[str, Any]) -> str:
    """Source for the wire value of one key attribute."""
    if entry.text is None:
        assert entry.source is not None
        scope[f"pack_{entry.source.name}"] = entry.source.pack
        return f"pack_{entry.source.name}(given[{entry.source.name!r}])"
    template = entry.text.template
    pieces = [repr(template.literals[0])]
    for name, component, literal in zip(template.names, entry.text.components, template.literals[1:], strict=True):
        scope[f"render_{name}"] = component.render
        pieces += [render_source(component, f"given[{name!r}]", f"render_{name}"), repr(literal)]
    return f'{{"S": {" + ".join(piece for piece in pieces if piece != repr(""))}}}'

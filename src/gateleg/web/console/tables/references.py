"""References between items, inferred from the declarations: an attribute that is part of another entity's key. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.jobs import Job
from gateleg.model import ModelError
from gateleg.web.console.tables.grids import item_address, key_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model import Item, Spec, Table


def references(spec: Spec[Any], tables: Iterable[Table]) -> dict[str, Spec[Any]]:
    """The attributes of an entity that refer to another entity.

    `Loan.book_id` refers to `Book` if the key of `Book` consists of `book_id`, or of several attributes that `Loan` also has, with
    `book_id` as the last. If several entities match, the one that the attribute is named after is chosen, or none.
    """
    found: dict[str, list[Spec[Any]]] = {}
    for target in (other for table in tables for other in table.specs if other is not spec):
        names = target.key.names
        if names and names[-1].endswith("_id") and all(_same(spec, target, name) for name in names):
            found.setdefault(names[-1], []).append(target)
    chosen = {name: _target_of(name, targets) for name, targets in found.items()}
    return {name: target for name, target in chosen.items() if target is not None}


def _same(spec: Spec[Any], target: Spec[Any], name: str) -> bool:
    own = spec.sources.get(name)
    return own is not None and own.declared.type is target.sources[name].declared.type


def _target_of(name: str, targets: list[Spec[Any]]) -> Spec[Any] | None:
    named = [target for target in targets if f"{target.name.lower()}_id" == name.replace("_", "").removesuffix("id") + "_id"]
    # Jobs have one page, whatever table they are in.
    if len(named) == 1 or (named and all(issubclass(target.entity, Job) for target in named)):
        return named[0]
    return targets[0] if len(targets) == 1 else None


def addresses(spec: Spec[Any], item: Item, known: Mapping[str, Spec[Any]]) -> dict[str, str]:
    """The addresses of an item's references, by attribute; none for an item that cannot be decoded."""
    if not known:
        return {}
    try:
        values = spec.values(spec.decode(item))
    except ModelError:
        return {}
    return {
        name: _address(target, values) for name, target in known.items() if all(values.get(part) is not None for part in target.key.names)
    }


def _address(target: Spec[Any], values: Mapping[str, Any]) -> str:
    if issubclass(target.entity, Job):
        return f"/jobs/{values['job_id']}"
    return item_address(target.table.name, key_text(target.table, target.key.require(values, target.name)))

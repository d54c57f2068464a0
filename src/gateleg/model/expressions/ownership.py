"""Whose attributes a condition reads: one about another entity would be evaluated on attributes that happen to have the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model.errors import ForeignAttribute
from gateleg.model.expressions.comparisons import Size, Term
from gateleg.model.expressions.nodes import (
    Arithmetic,
    Between,
    BooleanCall,
    Both,
    Comparison,
    Condition,
    Constant,
    Membership,
    Not,
    ValueCall,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_about"]


def check_about(condition: Any, entity: type[Any], option: str = "condition=") -> None:
    """Raise `ForeignAttribute` unless the argument is a condition on attributes of the entity."""
    if type(condition) is Comparison and type(condition.right) is Constant and getattr(condition.left, "owner", None) is entity:
        return
    if not isinstance(condition, Condition):
        raise ForeignAttribute(
            f"{option} takes a condition, and was given {condition!r}.",
            fix=f"Compare attributes: {entity.__name__}.attribute == value. Combine comparisons with & and |.",
        )
    for node in _parts(condition):
        owner = getattr(node, "owner", entity)
        if owner is not entity and not issubclass(entity, owner):
            raise ForeignAttribute(
                f"{node!r} is not an attribute of {entity.__name__}.", fix=f"Compare attributes of {entity.__name__} itself."
            )


def _parts(node: Any) -> Iterator[Any]:
    """The operands of an expression that are not made of others."""
    if isinstance(node, Comparison | Arithmetic):
        inner: tuple[Any, ...] = (node.left, node.right)
    elif isinstance(node, Both):
        inner = node.terms
    elif isinstance(node, Not):
        inner = (node.condition,)
    elif isinstance(node, BooleanCall | ValueCall):
        inner = node.arguments
    elif isinstance(node, Between):
        inner = (node.operand, node.low, node.high)
    elif isinstance(node, Membership):
        inner = (node.operand,)
    elif isinstance(node, Size):
        inner = (node.of,)
    elif isinstance(node, Term):
        inner = (node.operand,)
    else:
        yield node
        return
    for part in inner:
        yield from _parts(part)

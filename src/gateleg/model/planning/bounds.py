"""The bounds of attributes that only the database can check, as conditions of the updates that could break them.

They are needed for updates that add to a number, or change the length of a list, set or map. With `ge=0`, `Book.available.add(-5)` gets the
condition `available >= 5`. DynamoDB cannot compare the sum of two attributes in a condition, so such an update is written without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Literal

from gateleg.model.errors import ExpressionValue
from gateleg.model.expressions.evaluation import is_satisfied
from gateleg.model.expressions.nodes import (
    AddAction,
    Arithmetic,
    BooleanCall,
    Comparison,
    Condition,
    Constant,
    DeleteAction,
    Not,
    Operand,
    Path,
    RemoveAction,
    SetAction,
    Size,
    Term,
    ValueCall,
    all_of,
)
from gateleg.model.wire import decimal_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gateleg.model.expressions.nodes import DocumentPath, Operator, UpdateAction
    from gateleg.model.wire import Item

_OPERATORS: dict[str, Operator] = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_MIRRORED: dict[Operator, Operator] = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_COMPARE: dict[str, Callable[[Decimal, Decimal], bool]] = {">=": ge, ">": gt, "<=": le, "<": lt}
_WORDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than", "min_length": "at least", "max_length": "at most"}


@dataclass(frozen=True, eq=False)
class BoundGuard:
    """A bound of an attribute as a condition of an update that could break it."""

    #: the attribute's Python name
    attribute: str
    #: the name of the declared bound: ge, max_length, ...
    rule: Literal["ge", "gt", "le", "lt", "min_length", "max_length"]
    bound: Any
    condition: Condition

    def holds(self, item: Item) -> bool:
        """Whether an item satisfies the condition."""
        return is_satisfied(self.condition, item)

    @property
    def text(self) -> str:
        """The bound in words."""
        counted = " elements" if self.rule in ("min_length", "max_length") else ""
        return f"{_WORDS[self.rule]} {self.bound}{counted}"


def guards_of(actions: Sequence[UpdateAction]) -> tuple[BoundGuard, ...]:
    """The bounds that actions could break: those of the attributes that are written, then those of lists and maps around them."""
    guards: list[BoundGuard] = []
    bounded = False
    for action in actions:
        if action.attr is not None:
            bounded = True
            if action.attr.bounds is not None:
                guards += _attribute_guards(action)
    return (*guards, *_element_guards(actions)) if bounded else ()


def _attribute_guards(action: UpdateAction) -> Iterator[BoundGuard]:
    """The bounds of the attribute that is written."""
    if isinstance(action, AddAction | DeleteAction) and isinstance(action.operand, Constant):
        ((tag, content),) = action.operand.wire.items()
        if tag == "N":
            yield from _number_guards(action, action.path, Decimal(0), 1, Decimal(content))
        elif tag in ("SS", "NS", "BS"):
            yield from _set_guards(action, tag, content)
    elif isinstance(action, SetAction) and not isinstance(action.operand, Constant):
        yield from _assignment_guards(action, _plain(action.operand))


def _assignment_guards(action: SetAction, operand: Operand[Any]) -> Iterator[BoundGuard]:
    if isinstance(operand, ValueCall) and operand.function == "list_append":
        added = sum(len(part.wire["L"]) for part in operand.arguments if isinstance(part, Constant))
        yield from _list_guards(action, added)
    elif isinstance(operand, Arithmetic):
        left, right = _plain(operand.left), _plain(operand.right)
        sign = 1 if operand.sign == "+" else -1
        if isinstance(right, Constant) and (variable := _variable(left)) is not None:
            yield from _number_guards(action, *variable, 1, sign * Decimal(right.wire["N"]))
        elif isinstance(left, Constant) and (variable := _variable(right)) is not None:
            yield from _number_guards(action, *variable, sign, Decimal(left.wire["N"]))
    elif (variable := _variable(operand)) is not None:
        yield from _number_guards(action, *variable, 1, Decimal(0))


def _plain(operand: Operand[Any]) -> Operand[Any]:
    return operand.operand if isinstance(operand, Term) else operand


def _variable(operand: Operand[Any]) -> tuple[DocumentPath, Decimal | None] | None:
    """The path of an operand that reads one attribute, and its default if the attribute is missing; None for other operands."""
    if isinstance(operand, ValueCall) and operand.function == "if_not_exists":
        path, default = _path(operand.arguments[0]), operand.arguments[1]
        if path is not None and isinstance(default, Constant) and "N" in default.wire:
            return path, Decimal(default.wire["N"])
        return None
    path = _path(operand)
    return None if path is None else (path, None)


def _path(operand: Operand[Any]) -> DocumentPath | None:
    path: DocumentPath | None = getattr(operand, "path", None)
    return path


def _number_guards(action: UpdateAction, path: DocumentPath, default: Decimal | None, sign: int, shift: Decimal) -> Iterator[BoundGuard]:
    """The bounds of `sign * value + shift` as conditions on the value at `path`; a missing value counts as `default`."""
    assert action.attr is not None
    for rule, operator in _OPERATORS.items():
        bound = getattr(action.attr.bounds, rule)
        if not isinstance(bound, int | float | Decimal):
            continue
        # Increasing a number cannot break its lower bound, and decreasing it cannot break its upper bound.
        if path == action.path and sign > 0 and (shift <= 0 if rule in ("le", "lt") else shift >= 0):
            continue
        exact = Decimal(str(bound))
        limit: Constant[Any] = Constant(None, {"N": decimal_text(sign * (exact - shift))})
        within: Condition = Comparison(Path(path), operator if sign > 0 else _MIRRORED[operator], limit)
        if default is not None and _COMPARE[operator](sign * default + shift, exact):
            within = within | _absent(path)
        yield BoundGuard(action.attribute, rule, bound, within)  # type: ignore[arg-type]


def _set_guards(action: UpdateAction, tag: str, elements: list[str]) -> Iterator[BoundGuard]:
    assert action.attr is not None
    place: Path[Any] = Path(action.path)
    members = [BooleanCall("contains", (place, Constant(None, {tag[0]: element}))) for element in elements]
    if isinstance(action, AddAction):
        most = action.attr.bounds.max_length
        if most is not None:
            known = all_of(*members)
            assert known is not None
            yield BoundGuard(action.attribute, "max_length", most, _fits(action, len(elements), most) | known)
    else:
        least = action.attr.bounds.min_length
        if least is not None:
            unaffected = all_of(*(Not(member) for member in members))
            assert unaffected is not None
            yield BoundGuard(
                action.attribute, "min_length", least, _absent(action.path) | _size(action.path, ">=", least + len(elements)) | unaffected
            )


def _list_guards(action: UpdateAction, added: int) -> Iterator[BoundGuard]:
    assert action.attr is not None
    most = action.attr.bounds.max_length
    if most is not None:
        yield BoundGuard(action.attribute, "max_length", most, _fits(action, added, most))


def _fits(action: UpdateAction, added: int, most: int) -> Condition:
    """A condition: `added` more elements fit. A missing list or set counts as empty."""
    if added > most:
        raise ExpressionValue(f"{action.attr!r} allows at most {most} elements, not {added}.", fix="Add fewer elements.")
    return _absent(action.path) | _size(action.path, "<=", most - added)


def _element_guards(actions: Sequence[UpdateAction]) -> Iterator[BoundGuard]:
    """The bounds of the lengths of lists and maps whose elements are set or removed."""
    touched: dict[tuple[DocumentPath, bool], list[UpdateAction]] = {}
    for action in actions:
        parent = action.attr.parent if action.attr is not None else None
        if parent is not None and parent.bounds is not None and isinstance(action, SetAction | RemoveAction):
            touched.setdefault((parent.path, isinstance(action, SetAction)), []).append(action)
    for (path, grows), parts in touched.items():
        assert parts[0].attr is not None
        parent = parts[0].attr.parent
        places = [Path[Any](part.path) for part in parts]
        if grows and (most := parent.bounds.max_length) is not None:
            there = all_of(*(BooleanCall("attribute_exists", (place,)) for place in places))
            assert there is not None
            yield BoundGuard(parent.name, "max_length", most, _size(path, "<=", most - len(parts)) | there)
        elif not grows and (least := parent.bounds.min_length) is not None:
            gone = all_of(*(BooleanCall("attribute_not_exists", (place,)) for place in places))
            assert gone is not None
            yield BoundGuard(parent.name, "min_length", least, _size(path, ">=", least + len(parts)) | gone)


def _absent(path: DocumentPath) -> Condition:
    return BooleanCall("attribute_not_exists", (Path(path),))


def _size(path: DocumentPath, operator: Operator, count: int) -> Condition:
    return Comparison(Size(Path(path)), operator, Constant(count, {"N": str(count)}))

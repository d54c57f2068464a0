"""The result of an update: evaluates the update expressions of our own plans on an item, as DynamoDB would.

A dual write has to know the whole item that an update leaves, to write its copy in the same transaction.
"""

from __future__ import annotations

import copy
import re
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import MoveError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Item

_TOKEN = re.compile(r"\s*(SET|REMOVE|ADD|DELETE)\b|\s*([#:][^\s.,\[\]()=+]+(?<!-))|\s*([A-Za-z_]+)|\s*(\d+)|\s*([.,\[\]()=+-])")
_EXACT = Context(prec=38)
Path = tuple[str | int, ...]


def updated(item: Item | None, parameters: Mapping[str, Any]) -> Item:
    """The item after the `UpdateExpression` of an UpdateItem, with its names and values."""
    before = item if item is not None else dict(parameters["Key"])
    return _Update(parameters).applied(before)


class _Update:
    """One update expression, evaluated from left to right."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        text = parameters["UpdateExpression"]
        self._names = parameters.get("ExpressionAttributeNames", {})
        self._values = parameters.get("ExpressionAttributeValues", {})
        self._tokens: list[str] = []
        position = 0
        while position < len(text.rstrip()):
            found = _TOKEN.match(text, position)
            if found is None:
                raise MoveError(f"The update expression {text!r} cannot be read at {text[position:]!r}.")
            self._tokens.append(next(group for group in found.groups() if group is not None))
            position = found.end()
        self._next = 0

    def applied(self, before: Item) -> Item:
        after: Item = copy.deepcopy(before)
        removed: list[Path] = []
        while self._next < len(self._tokens):
            clause = self._take()
            while True:
                path = self._path()
                if clause == "SET":
                    self._expect("=")
                    _put(after, path, self._operand(before))
                elif clause == "REMOVE":
                    removed.append(path)
                else:
                    change = _added if clause == "ADD" else _taken
                    value = change(_found(before, path), self._values[self._take()])
                    _put(after, path, value) if value is not None else removed.append(path)
                if not self._ahead(","):
                    break
                self._take()
        # List elements are removed from the end, so that the indexes of the others stay valid.
        for path in sorted(removed, key=lambda path: [(isinstance(step, int), step) for step in path], reverse=True):
            _remove(after, path)
        return after

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1]

    def _ahead(self, *tokens: str) -> bool:
        return self._next < len(self._tokens) and self._tokens[self._next] in tokens

    def _expect(self, token: str) -> None:
        found = self._take()
        if found != token:
            raise MoveError(f"An update expression has {found!r} where {token!r} belongs.")

    def _path(self) -> Path:
        steps: list[str | int] = [self._name(self._take())]
        while self._ahead(".", "["):
            if self._take() == ".":
                steps.append(self._name(self._take()))
            else:
                steps.append(int(self._take()))
                self._expect("]")
        return tuple(steps)

    def _name(self, token: str) -> str:
        name: str = self._names[token] if token.startswith("#") else token
        return name

    def _operand(self, before: Item) -> Any:
        left = self._term(before)
        if self._ahead("+", "-"):
            sign, right = self._take(), self._term(before)
            a, b = Decimal(left["N"]), Decimal(right["N"])
            return _number(_EXACT.add(a, b) if sign == "+" else _EXACT.subtract(a, b))
        return left

    def _term(self, before: Item) -> Any:
        token = self._tokens[self._next]
        if token.startswith(":"):
            return self._values[self._take()]
        if token in ("if_not_exists", "list_append"):
            self._take()
            self._expect("(")
            if token == "if_not_exists":
                found = _found(before, self._path())
                self._expect(",")
                other = self._operand(before)
                self._expect(")")
                return other if found is None else found
            first = self._operand(before)
            self._expect(",")
            second = self._operand(before)
            self._expect(")")
            return {"L": [*first["L"], *second["L"]]}
        return _found(before, self._path())


def _number(value: Decimal) -> dict[str, str]:
    text = f"{value.normalize(_EXACT):f}"
    return {"N": "0" if text == "-0" else text}


def _found(item: Item, path: Path) -> Any:
    value: Any = {"M": item}
    for step in path:
        if isinstance(step, int):
            elements = value.get("L", [])
            value = elements[step] if step < len(elements) else None
        else:
            value = value.get("M", {}).get(step)
        if value is None:
            return None
    return value


def _parent(item: Item, path: Path) -> Any:
    return _found(item, path[:-1]) if len(path) > 1 else {"M": item}


def _put(item: Item, path: Path, value: Any) -> None:
    parent, last = _parent(item, path), path[-1]
    if isinstance(last, int):
        elements = parent["L"]
        elements[last : last + 1] = [value]
    else:
        parent["M"][last] = value


def _remove(item: Item, path: Path) -> None:
    parent, last = _parent(item, path), path[-1]
    if parent is None:
        return
    if isinstance(last, int):
        del parent["L"][last : last + 1]
    else:
        parent["M"].pop(last, None)


def _added(found: Any, value: Any) -> Any:
    ((tag, content),) = value.items()
    if tag == "N":
        return _number(_EXACT.add(Decimal((found or {"N": "0"})["N"]), Decimal(content)))
    members = list((found or {tag: []})[tag])
    return {tag: [*members, *(one for one in content if _member(tag, one) not in {_member(tag, old) for old in members})]}


def _taken(found: Any, value: Any) -> Any:
    ((tag, content),) = value.items()
    if found is None:
        return None
    gone = {_member(tag, one) for one in content}
    left = [one for one in found[tag] if _member(tag, one) not in gone]
    return {tag: left} if left else None


def _member(tag: str, value: str) -> Any:
    return Decimal(value) if tag == "NS" else value

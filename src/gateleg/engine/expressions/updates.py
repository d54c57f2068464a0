"""Updates compiled to Python functions that make a new item out of an old one.

All right-hand sides read the old item. The new item shares with the old one whatever the update does not write.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions.charges import Charge, charge
from gateleg.engine.expressions.conditions import NO_NAMES, compile_operand
from gateleg.engine.expressions.nodes import Action, Add, Arithmetic, Call, Getter, Item, Names, Operand, Path, Remove, Set, Value, Values
from gateleg.engine.expressions.paths import Keys, nested_heads, resolve
from gateleg.engine.expressions.projections import Projection, projection
from gateleg.engine.numbers import EXACT, as_decimal, spell
from gateleg.engine.values import validate

INVALID_PATH = "The document path provided in the update expression is invalid for update"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"

#: Integers of fewer characters than these have a sum of at most 38 digits.
SAFE_DIGITS = 38

#: What to write at a path, given what stands there and the operand: the new value, or None to have nothing there.
Write = Callable[[dict[str, Any] | None, dict[str, Any]], dict[str, Any] | None]


def _wrong_type() -> EngineError:
    return validation(WRONG_TYPE)


@dataclass(frozen=True, slots=True)
class Step:
    """One action: where it writes, the operand it reads (None for REMOVE), and what it makes of both."""

    keys: Keys
    operand: Getter | None
    write: Write
    #: The type of the operand, where its form tells it.
    yields: str | None = None
    #: The placeholder of the value that is written, where that is all there is to it.
    given: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """An UpdateExpression or AttributeUpdates."""

    #: Attributes that it writes.
    attributes: frozenset[str]
    #: Attributes that it looks into (`a.b`, `a[0]`), to write or to read.
    nested: frozenset[str]
    #: Whether it makes an item where there was none; REMOVE and DELETE alone do not.
    creates: bool
    steps: tuple[Step, ...]
    #: The steps that write an attribute as a whole.
    whole: Mapping[str, Step] = field(repr=False)
    #: Of these: attributes that are set to a value of the request, with its placeholder; those that are removed; and the others.
    given: Mapping[str, str] = field(repr=False)
    _removed: tuple[str, ...] = field(repr=False)
    _worked: tuple[tuple[str, Getter, Write], ...] = field(repr=False)
    _touched: Projection = field(repr=False)
    #: Whether it writes into the inside of attributes, which may become too deep by it.
    deepens: bool
    #: What DynamoDB counts for the expression; AttributeUpdates and PartiQL have none.
    charge: Charge | None = None

    def apply(self, item: Item, values: Values, *, exists: bool = True) -> Item:
        """The new item. `exists` tells whether `item` is stored or only a new item's key: then REMOVE may name paths that lead nowhere."""
        if not self.deepens:
            return self._apply_flat(item, values)
        operands = [None if step.operand is None else step.operand(item, values) for step in self.steps]
        tree: _Tree = {}
        for step, operand in zip(self.steps, operands, strict=True):
            if operand is None and not exists and len(step.keys) > 1 and step.keys[0] not in item:
                continue
            _plant(tree, step, operand)
        return _write_members(item, tree)

    def touched(self, item: Item) -> Item:
        """The written paths of an item, as UPDATED_OLD (of the old item) and UPDATED_NEW (of the new one) return them."""
        return self._touched.apply(item)

    def _apply_flat(self, item: Item, values: Values) -> Item:
        new = dict(item)
        for name, placeholder in self.given.items():
            new[name] = values[placeholder]
        for name in self._removed:
            new.pop(name, None)
        for name, operand, write in self._worked:
            found = operand(item, values)
            value = None if found is None else write(item.get(name), found)
            if value is not None:
                new[name] = value
            else:
                new.pop(name, None)
        return new


def update(actions: Iterable[Action], names: Names = NO_NAMES) -> Update:
    """The update that actions describe; their paths must not overlap."""
    actions = tuple(actions)
    steps = tuple(_step(action, names) for action in actions)
    read = [keys for action in actions if isinstance(action, Set) for keys in _read(action.value, names)]
    built = build_update(steps, read, creates=any(isinstance(action, Set | Add) for action in actions))
    return replace(built, charge=charge(actions, names))


def build_update(steps: tuple[Step, ...], read: Iterable[Keys] = (), *, creates: bool) -> Update:
    """An update made of compiled steps, with the paths that these read."""
    touched = projection(step.keys for step in steps)
    whole = {str(step.keys[0]): step for step in steps if len(step.keys) == 1}
    given = {name: step.given for name, step in whole.items() if step.given is not None}
    removed = tuple(name for name, step in whole.items() if step.operand is None)
    worked = tuple((name, step.operand, step.write) for name, step in whole.items() if step.operand is not None and step.given is None)
    nested = touched.nested | nested_heads(read)
    return Update(touched.attributes, nested, creates, steps, whole, given, removed, worked, touched, deepens=len(whole) != len(steps))


def _read(value: Operand | Arithmetic, names: Names) -> list[Keys]:
    """The paths on a right-hand side."""
    found: list[Keys] = []
    waiting: list[Operand | Arithmetic] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Path):
            found.append(resolve(part, names))
        elif isinstance(part, Call):
            waiting.extend(part.args)
        elif isinstance(part, Arithmetic):
            waiting.extend((part.left, part.right))
    return found


def _step(action: Action, names: Names) -> Step:
    keys = resolve(action.path, names)
    if isinstance(action, Remove):
        return Step(keys, None, put)
    if isinstance(action, Set):
        given = action.value.name if isinstance(action.value, Value) else None
        return Step(keys, compile_value(action.value, names), put, _yields(action.value), given)
    return Step(keys, compile_operand(action.value, names), add if isinstance(action, Add) else delete)


def _yields(value: Operand | Arithmetic) -> str | None:
    if isinstance(value, Arithmetic):
        return "N"
    return "L" if isinstance(value, Call) and value.name == "list_append" else None


def compile_value(value: Operand | Arithmetic, names: Names = NO_NAMES) -> Getter:
    """A function that gives the right-hand side of SET; it raises DynamoDB's error where that has no value."""
    if isinstance(value, Arithmetic):
        return _arithmetic(value.operator, compile_value(value.left, names), compile_value(value.right, names))
    if isinstance(value, Call):
        if value.name == "if_not_exists":
            return _fallback(value, names)
        left, right = (compile_value(arg, names) for arg in value.args)
        return _append(left, right)
    read = compile_operand(value, names)
    if not isinstance(value, Path):
        return read

    def require(item: Item, values: Values) -> dict[str, Any]:
        found = read(item, values)
        if found is None:
            raise validation(MISSING)
        return found

    return require


def _fallback(call: Call, names: Names) -> Getter:
    """`if_not_exists`; a chain of them (`if_not_exists(a, if_not_exists(b, ...))`) becomes one function."""
    readers: list[Getter] = []
    operand: Operand = call
    while isinstance(operand, Call) and operand.name == "if_not_exists":
        readers.append(compile_operand(operand.args[0], names))
        operand = operand.args[1]
    last = compile_value(operand, names)

    def choose(item: Item, values: Values) -> dict[str, Any] | None:
        for read in readers:
            found = read(item, values)
            if found is not None:
                return found
        return last(item, values)

    return choose


def _append(left: Getter, right: Getter) -> Getter:
    def append(item: Item, values: Values) -> dict[str, Any]:
        one, two = left(item, values), right(item, values)
        if one is None or two is None or "L" not in one or "L" not in two:
            raise _wrong_type()
        return {"L": one["L"] + two["L"]}

    return append


def _arithmetic(operator: str, left: Getter, right: Getter) -> Getter:
    def calculate(item: Item, values: Values) -> dict[str, Any]:
        one, two = left(item, values), right(item, values)
        if one is None or two is None or "N" not in one or "N" not in two:
            raise _wrong_type()
        return {"N": calculated(operator, one["N"], two["N"])}

    return calculate


def calculated(operator: str, left: str, right: str) -> str:
    """The exact sum or difference of two canonical numbers; one that does not fit 38 digits is an overflow to DynamoDB."""
    if len(left) < SAFE_DIGITS and len(right) < SAFE_DIGITS and "." not in left and "." not in right:
        return str(int(left) + int(right) if operator == "+" else int(left) - int(right))
    one, two = as_decimal(left), as_decimal(right)
    exact = EXACT.add(one, two) if operator == "+" else EXACT.subtract(one, two)
    try:
        return spell(exact)
    except EngineError as error:
        if error.message is not None and "significant digits" in error.message:
            raise validation(OVERFLOW) from None
        raise


def put(old: dict[str, Any] | None, operand: dict[str, Any]) -> dict[str, Any]:
    """What SET writes: the operand."""
    return operand


def add(old: dict[str, Any] | None, operand: dict[str, Any]) -> dict[str, Any]:
    """What ADD writes: the sum of numbers, or the union of sets."""
    if old is None:
        return operand
    ((tag, content),) = operand.items()
    if tag not in old:
        raise _wrong_type()
    if tag == "N":
        return {"N": calculated("+", old["N"], content)}
    return validate({tag: list(dict.fromkeys(old[tag] + content))})


def delete(old: dict[str, Any] | None, operand: dict[str, Any]) -> dict[str, Any] | None:
    """What DELETE leaves: the set without the operand's members, or nothing where none is left."""
    if old is None:
        return None
    ((tag, content),) = operand.items()
    if tag not in old:
        raise _wrong_type()
    gone = set(content)
    left = [member for member in old[tag] if member not in gone]
    return {tag: left} if left else None


#: Steps as a tree of their paths; a leaf is the step and its operand.
_Tree = dict[Any, "_Tree | tuple[Step, dict[str, Any] | None]"]


def _plant(tree: _Tree, step: Step, operand: dict[str, Any] | None) -> None:
    for key in step.keys[:-1]:
        below = tree.setdefault(key, {})
        assert isinstance(below, dict), "a path must not go through the end of another"
        tree = below
    tree[step.keys[-1]] = (step, operand)


def _written(old: dict[str, Any] | None, below: "_Tree | tuple[Step, dict[str, Any] | None]") -> dict[str, Any] | None:
    """What stands at a path after the steps at and below it."""
    if isinstance(below, tuple):
        step, operand = below
        return None if operand is None else step.write(old, operand)
    if type(next(iter(below))) is str:
        if old is None or "M" not in old:
            raise validation(INVALID_PATH)
        return {"M": _write_members(old["M"], below)}
    if old is None or "L" not in old:
        raise validation(INVALID_PATH)
    return {"L": _write_list(old["L"], below)}


def _write_members(members: dict[str, Any], tree: _Tree) -> dict[str, Any]:
    new = dict(members)
    for name, below in tree.items():
        value = _written(members.get(name), below)
        if value is not None:
            new[name] = value
        else:
            new.pop(name, None)
    return new


def _write_list(members: list[Any], tree: _Tree) -> list[Any]:
    """Positions are those of the old list; what lies beyond its end is appended in the order of the positions."""
    new: list[Any] = list(members)
    for index in sorted(tree):
        inside = index < len(members)
        value = _written(members[index] if inside else None, tree[index])
        if inside:
            new[index] = value
        elif value is not None:
            new.append(value)
    return [member for member in new if member is not None]

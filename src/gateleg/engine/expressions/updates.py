"""Updates, compiled to Python functions that derive a new item from an old one, and projections, the parts of an item that a response has.

All right-hand sides of an update read the old item. The new item shares with the old one whatever the update does not write.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gateleg.engine.errors import EngineError, validation
from gateleg.engine.expressions.conditions import NO_NAMES, ResolvedPath, compile_operand, nested_attributes, resolve, root_attributes
from gateleg.engine.expressions.grammar import END, SYMBOL, TokenCursor
from gateleg.engine.expressions.nodes import Action, Add, Arithmetic, Call, Getter, Item, Names, Operand, Path, Remove, Set, Value, Values
from gateleg.engine.expressions.rules import ExpressionSize, expression_size
from gateleg.engine.values import EXACT, OVERFLOW, as_decimal, format_decimal, validate
from gateleg.plain import is_plain

_PLAIN = is_plain("flat_updates")
#: Paths as a tree of names and indexes; None where everything below is included.
Tree = dict[Any, "Tree | None"]


def parse_projection(text: str) -> tuple[Path, ...]:
    """Parse a ProjectionExpression; raises `InvalidExpression` for a syntax error."""
    cursor = TokenCursor(text)
    paths = [cursor.path()]
    while True:
        token = cursor.take()
        if token.kind == END:
            return tuple(paths)
        if token.kind != SYMBOL or token.text != ",":
            raise cursor.unexpected(token)
        paths.append(cursor.path())


@dataclass(frozen=True, slots=True)
class Projection:
    """A ProjectionExpression or AttributesToGet."""

    #: attributes in use
    attributes: frozenset[str]
    #: attributes with document paths into them (`a.b`, `a[0]`)
    nested: frozenset[str]
    #: the attributes in the order of the request, with the requested parts of each
    tree: Tree

    def apply(self, item: Item) -> Item:
        """The requested parts that the item has; enclosing maps and lists are kept, and list members move up."""
        if not self.nested:
            return {name: item[name] for name in self.tree if name in item}
        return _members(item, self.tree)


def projection(paths: Iterable[ResolvedPath]) -> Projection:
    """A projection of paths, which must not overlap."""
    paths = list(paths)
    tree: Tree = {}
    for keys in paths:
        branch = tree
        for key in keys[:-1]:
            below = branch.setdefault(key, {})
            assert below is not None, "a path must not go through the end of another"
            branch = below
        branch[keys[-1]] = None
    return Projection(root_attributes(paths), nested_attributes(paths), tree)


def _members(members: dict[str, Any], tree: Tree) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, below in tree.items():
        value = members.get(name)
        part = value if value is None or below is None else _part(value, below)
        if part is not None:
            chosen[name] = part
    return chosen


def _part(value: dict[str, Any], tree: Tree) -> dict[str, Any] | None:
    """The requested parts of a map or list; None if it has none of them."""
    if type(next(iter(tree))) is str:
        members = _members(value["M"], tree) if "M" in value else None
        return {"M": members} if members else None
    items = value.get("L")
    if items is None:
        return None
    parts = []
    for index in sorted(tree):
        below = tree[index]
        if index < len(items):
            part = items[index] if below is None else _part(items[index], below)
            if part is not None:
                parts.append(part)
    return {"L": parts} if parts else None


INVALID_PATH = "The document path provided in the update expression is invalid for update"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"

#: Integers with fewer characters than this have a sum of at most 38 digits.
SAFE_DIGITS = 38

#: The new value at a path, given the current value and the operand; None to remove it.
Write = Callable[[dict[str, Any] | None, dict[str, Any]], dict[str, Any] | None]


def _wrong_type() -> EngineError:
    return validation(WRONG_TYPE)


@dataclass(frozen=True, slots=True)
class UpdateStep:
    """One action: the path it writes, the operand it reads (None for REMOVE), and how it combines both."""

    keys: ResolvedPath
    operand: Getter | None
    write: Write
    #: type of the operand, if it is known in advance
    result_type: str | None = None
    #: placeholder of the value to write, if that is the whole operand
    placeholder: str | None = None


@dataclass(frozen=True, slots=True)
class CompiledUpdate:
    """An UpdateExpression or AttributeUpdates."""

    #: attributes it writes
    attributes: frozenset[str]
    #: attributes with document paths into them (`a.b`, `a[0]`), written or read
    nested: frozenset[str]
    #: whether it creates a missing item; REMOVE and DELETE alone do not
    creates_item: bool
    steps: tuple[UpdateStep, ...]
    #: the steps that write whole attributes
    by_attribute: Mapping[str, UpdateStep] = field(repr=False)
    #: the attributes among these that are set to a value of the request, with its placeholder; those removed; and the others
    placeholders: Mapping[str, str] = field(repr=False)
    _removed: tuple[str, ...] = field(repr=False)
    _computed: tuple[tuple[str, Getter, Write], ...] = field(repr=False)
    _written: Projection = field(repr=False)
    #: whether it writes inside attributes, which may exceed the nesting limit
    writes_nested: bool
    #: the size that DynamoDB counts for the expression; None for AttributeUpdates and PartiQL
    expression_size: ExpressionSize | None = None

    def apply(self, item: Item, values: Values, *, exists: bool = True) -> Item:
        """The new item. If `exists` is False, `item` is only the key of a new item, and REMOVE may name missing paths."""
        if not self.writes_nested and not _PLAIN:
            return self._apply_flat(item, values)
        operands = [None if step.operand is None else step.operand(item, values) for step in self.steps]
        tree: _Tree = {}
        for step, operand in zip(self.steps, operands, strict=True):
            if operand is None and not exists and len(step.keys) > 1 and step.keys[0] not in item:
                continue
            _plant(tree, step, operand)
        return _write_members(item, tree)

    def written_paths(self, item: Item) -> Item:
        """The written paths of an item, as UPDATED_OLD and UPDATED_NEW return them."""
        return self._written.apply(item)

    def _apply_flat(self, item: Item, values: Values) -> Item:
        new = dict(item)
        for name, placeholder in self.placeholders.items():
            new[name] = values[placeholder]
        for name in self._removed:
            new.pop(name, None)
        for name, operand, write in self._computed:
            result = operand(item, values)
            value = None if result is None else write(item.get(name), result)
            if value is not None:
                new[name] = value
            else:
                new.pop(name, None)
        return new


def update(actions: Iterable[Action], names: Names = NO_NAMES) -> CompiledUpdate:
    """Compile an update from its actions, whose paths must not overlap."""
    actions = tuple(actions)
    steps = tuple(_step(action, names) for action in actions)
    read = [keys for action in actions if isinstance(action, Set) for keys in _read(action.value, names)]
    built = build_update(steps, read, creates_item=any(isinstance(action, Set | Add) for action in actions))
    return replace(built, expression_size=expression_size(actions, names))


def build_update(steps: tuple[UpdateStep, ...], read: Iterable[ResolvedPath] = (), *, creates_item: bool) -> CompiledUpdate:
    """An update of compiled steps, with the paths that these read."""
    written = projection(step.keys for step in steps)
    whole = {str(step.keys[0]): step for step in steps if len(step.keys) == 1}
    placeholders = {name: step.placeholder for name, step in whole.items() if step.placeholder is not None}
    removed = tuple(name for name, step in whole.items() if step.operand is None)
    computed = tuple(
        (name, step.operand, step.write) for name, step in whole.items() if step.operand is not None and step.placeholder is None
    )
    nested = written.nested | nested_attributes(read)
    return CompiledUpdate(
        written.attributes,
        nested,
        creates_item,
        steps,
        whole,
        placeholders,
        removed,
        computed,
        written,
        writes_nested=len(whole) != len(steps),
    )


def _read(value: Operand | Arithmetic, names: Names) -> list[ResolvedPath]:
    """The paths in a right-hand side."""
    paths: list[ResolvedPath] = []
    waiting: list[Operand | Arithmetic] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Path):
            paths.append(resolve(part, names))
        elif isinstance(part, Call):
            waiting.extend(part.args)
        elif isinstance(part, Arithmetic):
            waiting.extend((part.left, part.right))
    return paths


def _step(action: Action, names: Names) -> UpdateStep:
    keys = resolve(action.path, names)
    if isinstance(action, Remove):
        return UpdateStep(keys, None, put)
    if isinstance(action, Set):
        placeholder = action.value.name if isinstance(action.value, Value) else None
        return UpdateStep(keys, compile_value(action.value, names), put, _result_type(action.value), placeholder)
    return UpdateStep(keys, compile_operand(action.value, names), add if isinstance(action, Add) else delete)


def _result_type(value: Operand | Arithmetic) -> str | None:
    if isinstance(value, Arithmetic):
        return "N"
    return "L" if isinstance(value, Call) and value.name == "list_append" else None


def compile_value(value: Operand | Arithmetic, names: Names = NO_NAMES) -> Getter:
    """A function that returns the right-hand side of SET; it raises DynamoDB's error for a missing value."""
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
        value = read(item, values)
        if value is None:
            raise validation(MISSING)
        return value

    return require


def _fallback(call: Call, names: Names) -> Getter:
    """`if_not_exists`; a chain of calls becomes one function."""
    readers: list[Getter] = []
    operand: Operand = call
    while isinstance(operand, Call) and operand.name == "if_not_exists":
        readers.append(compile_operand(operand.args[0], names))
        operand = operand.args[1]
    last = compile_value(operand, names)

    def choose(item: Item, values: Values) -> dict[str, Any] | None:
        for read in readers:
            value = read(item, values)
            if value is not None:
                return value
        return last(item, values)

    return choose


def _append(left: Getter, right: Getter) -> Getter:
    def append(item: Item, values: Values) -> dict[str, Any]:
        first, second = left(item, values), right(item, values)
        if first is None or second is None or "L" not in first or "L" not in second:
            raise _wrong_type()
        return {"L": first["L"] + second["L"]}

    return append


def _arithmetic(operator: str, left: Getter, right: Getter) -> Getter:
    def compute(item: Item, values: Values) -> dict[str, Any]:
        first, second = left(item, values), right(item, values)
        if first is None or second is None or "N" not in first or "N" not in second:
            raise _wrong_type()
        return {"N": calculate(operator, first["N"], second["N"])}

    return compute


def calculate(operator: str, left: str, right: str) -> str:
    """The exact sum or difference of two canonical numbers; DynamoDB reports more than 38 digits as an overflow."""
    if len(left) < SAFE_DIGITS and len(right) < SAFE_DIGITS and "." not in left and "." not in right:
        return str(int(left) + int(right) if operator == "+" else int(left) - int(right))
    first, second = as_decimal(left), as_decimal(right)
    exact = EXACT.add(first, second) if operator == "+" else EXACT.subtract(first, second)
    try:
        return format_decimal(exact)
    except EngineError as error:
        if error.message is not None and "significant digits" in error.message:
            raise validation(OVERFLOW) from None
        raise


def put(old: dict[str, Any] | None, operand: dict[str, Any]) -> dict[str, Any]:
    """The value that SET writes: the operand."""
    return operand


def add(old: dict[str, Any] | None, operand: dict[str, Any]) -> dict[str, Any]:
    """The value that ADD writes: the sum of numbers, or the union of sets."""
    if old is None:
        return operand
    ((tag, content),) = operand.items()
    if tag not in old:
        raise _wrong_type()
    if tag == "N":
        return {"N": calculate("+", old["N"], content)}
    return validate({tag: list(dict.fromkeys(old[tag] + content))})


def delete(old: dict[str, Any] | None, operand: dict[str, Any]) -> dict[str, Any] | None:
    """The value that DELETE leaves: the set without the operand's members, or None if it is empty."""
    if old is None:
        return None
    ((tag, content),) = operand.items()
    if tag not in old:
        raise _wrong_type()
    gone = set(content)
    left = [member for member in old[tag] if member not in gone]
    return {tag: left} if left else None


#: Steps as a tree of their paths; a leaf is a step and its operand.
_Tree = dict[Any, "_Tree | tuple[UpdateStep, dict[str, Any] | None]"]


def _plant(tree: _Tree, step: UpdateStep, operand: dict[str, Any] | None) -> None:
    for key in step.keys[:-1]:
        below = tree.setdefault(key, {})
        assert isinstance(below, dict), "a path must not go through the end of another"
        tree = below
    tree[step.keys[-1]] = (step, operand)


def _written(old: dict[str, Any] | None, below: "_Tree | tuple[UpdateStep, dict[str, Any] | None]") -> dict[str, Any] | None:
    """The value at a path after the steps at and below it."""
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
    """Indexes refer to the old list; values beyond its end are appended in order of their indexes."""
    new: list[Any] = list(members)
    for index in sorted(tree):
        inside = index < len(members)
        value = _written(members[index] if inside else None, tree[index])
        if inside:
            new[index] = value
        elif value is not None:
            new.append(value)
    return [member for member in new if member is not None]

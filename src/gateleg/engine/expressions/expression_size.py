"""The size of an UpdateExpression, which UpdateItem limits to that of an item, in addition to the resulting item.

It counts what the expression states: names, indexes and the request's values, at each use, with some bytes per action and function. The
item's own values are not counted.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateleg.engine.expressions.nodes import Action, Add, Arithmetic, Call, Names, Operand, Path, Set, Value, Values
from gateleg.engine.expressions.paths import ResolvedPath, resolve
from gateleg.engine.values import MAX_ITEM_SIZE, size, text_size

_UPDATE: Final = 3
_WRITE: Final = 19
_REMOVAL: Final = 1
_STEP_WRITTEN: Final = 4
_PATH_READ: Final = 1
_STEP_READ: Final = 14
_FUNCTIONS: Final = {"+": 34, "-": 37, "list_append": 37, "if_not_exists": 39}


@dataclass(frozen=True, slots=True)
class ExpressionSize:
    """The size of an expression: a fixed part, and the values it refers to, counted at each use."""

    fixed: int
    values: tuple[str, ...]
    #: If all values of a request together stay below this, the expression cannot be too large.
    room: int

    def exceeds(self, values: Values, size: int) -> bool:
        """Whether the expression exceeds the item size limit with these values, whose total size is `size`."""
        return size > self.room and self.total(values) > MAX_ITEM_SIZE

    def total(self, values: Values) -> int:
        """Size of the expression with these values."""
        return self.fixed + sum(size(values[name]) for name in self.values)


def expression_size(actions: Iterable[Action], names: Names) -> ExpressionSize:
    """The size of an expression with these actions."""
    fixed, values = _UPDATE, list[str]()
    for action in actions:
        fixed += _target(resolve(action.path, names))
        if isinstance(action, Set | Add):
            fixed += _WRITE + _operand(action.value, names, values)
        else:
            fixed += _REMOVAL
    most = max(Counter(values).values(), default=1)
    return ExpressionSize(fixed, tuple(values), (MAX_ITEM_SIZE - fixed) // most)


def _target(keys: ResolvedPath) -> int:
    return _element(keys[0]) + sum(_STEP_WRITTEN + _element(key) for key in keys[1:])


def _operand(operand: Operand | Arithmetic, names: Names, values: list[str]) -> int:
    """Size of a right-hand side without its values, whose placeholders are added to `values`."""
    total = 0
    waiting: list[Operand | Arithmetic] = [operand]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Value):
            values.append(part.name)
        elif isinstance(part, Path):
            total += _PATH_READ + sum(_STEP_READ + _element(key) for key in resolve(part, names))
        elif isinstance(part, Call):
            total += _FUNCTIONS[part.name]
            waiting.extend(part.args)
        elif isinstance(part, Arithmetic):
            total += _FUNCTIONS[part.operator]
            waiting.extend((part.left, part.right))
    return total


def _element(key: str | int) -> int:
    return len(str(key)) if isinstance(key, int) else text_size(key)

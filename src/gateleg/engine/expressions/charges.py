"""What DynamoDB counts for an UpdateExpression: UpdateItem holds that to the size of an item, beside the item that comes out.

What counts is what the expression states, not what it finds: names, positions and the values of the request, at each use, with some
bytes for each action and function. The item's own values are free.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateleg.engine.expressions.nodes import Action, Add, Arithmetic, Call, Names, Operand, Path, Set, Value, Values
from gateleg.engine.expressions.paths import Keys, resolve
from gateleg.engine.values import MAX_ITEM_SIZE, size, text_size

_UPDATE: Final = 3
_WRITE: Final = 19
_REMOVAL: Final = 1
_STEP_WRITTEN: Final = 4
_PATH_READ: Final = 1
_STEP_READ: Final = 14
_FUNCTIONS: Final = {"+": 34, "-": 37, "list_append": 37, "if_not_exists": 39}


@dataclass(frozen=True, slots=True)
class Charge:
    """The bytes that an expression counts: some of its own, and those of values, as often as they are named here."""

    fixed: int
    values: tuple[str, ...]
    #: Bytes that all values of a request may have together, without a look at which are named how often.
    room: int

    def exceeds(self, values: Values, size: int) -> bool:
        """Whether the expression counts more bytes with these values, which have so many together, than an item may have."""
        return size > self.room and self.total(values) > MAX_ITEM_SIZE

    def total(self, values: Values) -> int:
        """The bytes that the expression counts with these values."""
        return self.fixed + sum(size(values[name]) for name in self.values)


def charge(actions: Iterable[Action], names: Names) -> Charge:
    """What the actions of an expression count."""
    fixed, values = _UPDATE, list[str]()
    for action in actions:
        fixed += _target(resolve(action.path, names))
        if isinstance(action, Set | Add):
            fixed += _WRITE + _operand(action.value, names, values)
        else:
            fixed += _REMOVAL
    most = max(Counter(values).values(), default=1)
    return Charge(fixed, tuple(values), (MAX_ITEM_SIZE - fixed) // most)


def _target(keys: Keys) -> int:
    return _element(keys[0]) + sum(_STEP_WRITTEN + _element(key) for key in keys[1:])


def _operand(operand: Operand | Arithmetic, names: Names, values: list[str]) -> int:
    """The bytes of a right-hand side but for its values, which go into `values`."""
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

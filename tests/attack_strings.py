"""Attack strings for regular expressions, derived from the expressions themselves, and the judgement of how matching time grows with them.

An expression that backtracks needs exponential or cubic time only on strings that repeat what one of its parts matches. The strings here
repeat samples of every part, after what leads to the part, and before what makes the match fail.
"""

from __future__ import annotations

import ast
import io
import itertools
import json
import pkgutil
import re
import signal
import sys
import time
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

#: How often a part is repeated. Time that grows with the square stays short at the most; cubic time does not.
_FEWEST, _MOST = 16, 512
#: Seconds of processor time at the most below which growth is not looked at: the square needs less, the cube much more.
_NOTICED = 0.02
#: Less than this is noise: some systems count processor time in ticks of hundredths.
_MEASURABLE = 0.01
#: Seconds of processor time after which work is given up: many times what the square needs.
_GIVEN_UP = 0.5
#: Seconds of processor time for one expression, which those need whose time grows with the square.
_EACH = 2.0
#: Time that grows with this power of the length, or faster, is too much: 2 is the square, 3 the cube.
_TOO_STEEP = 2.5
#: What characters of each kind are tried for a class or a dot.
_CHARACTERS = " a1A.,-_:/|<>\"'`*#@=()[]{}\n\té、"
_ENDINGS = ("\x00!", "??x", "")
_METHODS = ("search", "fullmatch")
#: The largest number of samples of one part.
_SAMPLES = 4


#: The parser of expressions; its parts are private.
compiler, codes, parser = (import_module(f"re.{name}") for name in ("_compiler", "_constants", "_parser"))


class Expression:
    """An expression with a name under which a failure is reported."""

    def __init__(self, place: str, pattern: str | bytes, flags: int) -> None:
        self.place, self.pattern, self.flags = place, pattern, flags


class _GivenUp(Exception):
    """A match took too long."""


def _members(node: Any) -> Iterator[Any]:
    """All parts of a parsed expression."""
    for operation, argument in node:
        yield operation, argument
        for inner in _inner(operation, argument):
            yield from _members(inner)


def _inner(operation: Any, argument: Any) -> list[Any]:
    if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [argument[2]]
    if operation is codes.SUBPATTERN:
        return [argument[3]]
    if operation is codes.ATOMIC_GROUP:
        return [argument]
    if operation is codes.BRANCH:
        return list(argument[1])
    if operation in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    if operation is codes.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []


def _class_samples(argument: Any, flags: int) -> list[str]:
    """Characters of a class: its own, and common ones that it contains."""
    own = [chr(value) for kind, value in argument if kind is codes.LITERAL]
    own += [chr(value[0]) for kind, value in argument if kind is codes.RANGE]
    return [character for character in dict.fromkeys((*_CHARACTERS, *own)) if _in_class(argument, character, flags)]


def _in_class(argument: Any, character: str, flags: int) -> bool:
    state = parser.State()
    state.flags = flags & ~re.LOCALE
    state.str = "x"
    return bool(compiler.compile(parser.SubPattern(state, [(codes.IN, argument)])).fullmatch(character)) if argument else False


def _samples(node: Any, flags: int, most: int = _SAMPLES) -> list[str]:
    """Some of the shortest strings that a part matches."""
    texts = [""]
    for operation, argument in node:
        parts = _part_samples(operation, argument, flags, most)
        texts = [before + part for part, before in itertools.product(parts, texts)][:most]
    return texts


def _part_samples(operation: Any, argument: Any, flags: int, most: int) -> list[str]:
    if operation is codes.LITERAL:
        return [chr(argument)]
    if operation is codes.NOT_LITERAL:
        return [character for character in _CHARACTERS if ord(character) != argument][:most]
    if operation is codes.ANY:
        return list(" a1")
    if operation is codes.IN:
        return _class_samples(argument, flags)[:most] or [""]
    if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, _, body = argument
        return [sample * max(least, 0) for sample in _samples(body, flags, most)] if least else ["", *_samples(body, flags, most)][:most]
    if operation is codes.BRANCH:
        return [sample for branch in argument[1] for sample in _samples(branch, flags, 1)][: 2 * most]
    if operation in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
        return _samples(argument[3] if operation is codes.SUBPATTERN else argument, flags, most)
    return [""]


def _way_to(node: Any, target: Any, flags: int) -> str | None:
    """A string that the expression matches before one of its parts; None if the part is not in it."""
    before = ""
    for operation, argument in node:
        if argument is target:
            return before
        for inner in _inner(operation, argument):
            way = _way_to(inner, target, flags)
            if way is not None:
                return before + way
        before += _part_samples(operation, argument, flags, 1)[0]
    return None


def attacks(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str]]:
    """Pairs of a beginning and a part to repeat."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = parser.parse(text, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags)
    flags = tree.state.flags
    repeated = [
        (operation, argument)
        for operation, argument in _members(tree)
        if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT) and argument[1] > argument[0] and argument[1] > 3
    ]
    seen = set()
    every: list[str] = []
    for _, argument in repeated:
        # Single characters of a repeated class: where two repetitions share one, they may divide a run of it in many ways.
        singles = [c for o, a in _members(argument[2]) if o is codes.IN for c in _class_samples(a, flags)]
        units = [unit for unit in dict.fromkeys([*_samples(argument[2], flags, 3 * _SAMPLES), *singles[:12]]) if unit]
        every += units
        for unit in units:
            for way in dict.fromkeys((_way_to(tree, argument, flags) or "", "")):
                if (way, unit) not in seen:
                    seen.add((way, unit))
                    yield way, unit
    # What two repetitions match in turn, and the unit once between blanks.
    few = list(dict.fromkeys(every))[:6]
    for first, second in itertools.permutations(few, 2):
        if ("", first + second) not in seen:
            seen.add(("", first + second))
            yield "", first + second


def steepest_attack(expression: re.Pattern[Any], beginning: str, unit: str) -> str | None:
    """The attack on which matching time grows too steeply; None if it does on none of its forms."""
    for method, ending in itertools.product(_METHODS, _ENDINGS):

        def prepared(length: int, method: str = method, ending: str = ending) -> Callable[[], object]:
            text = beginning + unit * max(length // len(unit), length // 2) + ending
            attack: Any = text.encode() if isinstance(expression.pattern, bytes) else text
            return lambda: getattr(expression, method)(attack)

        if grows_steeply(prepared):
            return f"{method} in {beginning!r} + n * {unit!r} + {ending!r}"
    return None


def grows_steeply(prepared: Callable[[int], Callable[[], object]]) -> bool:
    """Whether the processor time of some work grows exponentially, or with the cube of a length; `prepared` gives the work for a length."""

    def spent(length: int) -> float:
        work = prepared(length)
        return min(_seconds(work) for _ in range(2))

    def jumps(length: int) -> bool:
        """Whether twice the length takes much more than four times as long."""
        before = spent(length)
        return before < _GIVEN_UP and spent(2 * length) > min(max(before, _MEASURABLE) * 2**_TOO_STEEP, _GIVEN_UP * 0.99)

    last = _seconds(prepared(_MOST))
    if last < _NOTICED:
        return False
    length = _MOST if last < _GIVEN_UP else _FEWEST
    while not jumps(length) and length < _MOST:
        length *= 2
    # Single jumps may be noise of a busy machine; what is steep is steep each time.
    return all(jumps(length) and (jumps(2 * length) or spent(2 * length) >= _GIVEN_UP) for _ in range(3))


def _seconds(work: Callable[[], object]) -> float:
    """The processor time of some work, which is given up after `_GIVEN_UP`."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise _GivenUp

    former = signal.signal(signal.SIGVTALRM, give_up)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, _GIVEN_UP)
        work()
    except _GivenUp:
        return _GIVEN_UP
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
    return time.process_time() - began


def modules_of(package: str) -> Iterator[Any]:
    """Every module of a package that can be imported here."""
    root = import_module(package)
    yield root
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not found.name.endswith("__main__"):
            with redirect_stdout(io.StringIO()):
                yield import_module(found.name)


def compiled_in(module: Any) -> Iterator[Expression]:
    """The expressions that a module holds in its names and in the collections and classes behind them."""
    seen: set[int] = set()

    def within(value: Any, name: str, depth: int) -> Iterator[Expression]:
        if id(value) in seen or depth > 4:
            return
        seen.add(id(value))
        if isinstance(value, re.Pattern):
            yield Expression(f"{module.__name__}.{name}", value.pattern, value.flags)
        elif isinstance(value, dict):
            for inner in value.values():
                yield from within(inner, name, depth + 1)
        elif isinstance(value, tuple | list | set | frozenset):
            for inner in value:
                yield from within(inner, name, depth + 1)
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield from within(dict(vars(value)), name, depth + 1)

    for name, value in list(vars(module).items()):
        yield from within(value, name, 0)


_FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}


def written_in(module: Any) -> Iterator[Expression]:
    """The expressions in calls of `re` in the source of a module. What a call computes is filled in, or stands as a word."""
    place = getattr(module, "__file__", None)
    if place is None or not place.endswith(".py"):
        return
    for node in ast.walk(ast.parse(Path(place).read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in _FUNCTIONS
            and node.args
        ):
            pattern = _text_of(node.args[0], module)
            flags = next((_flags_of(given.value, module) for given in node.keywords if given.arg == "flags"), 0)
            flags |= next((_flags_of(given, module) for given in node.args[1:] if "re." in ast.unparse(given)), 0)
            if pattern is not None:
                yield Expression(f"{module.__name__}:{node.lineno}", pattern, flags)


def _text_of(node: ast.expr, module: Any) -> str | bytes | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | bytes) else None
    if isinstance(node, ast.JoinedStr):
        parts = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            text = _text_of(inner, module)
            parts.append(text if isinstance(text, str) else "word")
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text_of(node.left, module), _text_of(node.right, module)
        return left + right if isinstance(left, str) and isinstance(right, str) else None
    if isinstance(node, ast.Name):
        value = getattr(module, node.id, None)
        return value if isinstance(value, str | bytes) else None
    return None


def _flags_of(node: ast.expr, module: Any) -> int:
    with suppress(Exception):
        return int(eval(compile(ast.Expression(node), "flags", "eval"), {"re": re}))
    return 0


def steep_among(expressions: Iterable[Expression]) -> dict[str, str]:
    """The expressions whose matching time grows too steeply, each with an attack."""
    steep = {}
    for expression in expressions:
        compiled = re.compile(
            expression.pattern, expression.flags & ~re.UNICODE if isinstance(expression.pattern, bytes) else expression.flags
        )
        ends = time.process_time() + _EACH
        for beginning, unit in attacks(expression.pattern, expression.flags):
            if time.process_time() > ends:
                break
            attack = steepest_attack(compiled, beginning, unit)
            if attack is not None:
                steep[f"{expression.place} {expression.pattern!r:.120}"] = attack
                break
    return steep


def main(package: str) -> None:
    """Judge all expressions of a package, and print as JSON how many there are and which are too steep."""
    distinct: dict[tuple[str | bytes, int], Expression] = {}
    for module in list(modules_of(package)):
        for expression in (*compiled_in(module), *written_in(module)):
            distinct.setdefault((expression.pattern, expression.flags & ~re.UNICODE), expression)
    print(json.dumps({"expressions": len(distinct), "steep": steep_among(distinct.values())}))


if __name__ == "__main__":
    main(sys.argv[1])

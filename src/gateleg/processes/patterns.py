"""`match_patterns` and `pattern_problems`: the only way to apply regular expressions that users wrote, in a process with limits.

Python's expressions backtrack: some need years to match a short text, and some need seconds only to be compiled. Either would stop the
process that tries, with all its threads. Here each expression has a share of processor time, and those that need more have no result.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import time
from dataclasses import astuple, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from gateleg.processes.limited import LimitReached, ProcessLimits, run_limited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

#: Seconds of processor time for one expression, and for all of one call together.
_EACH, _TOGETHER = 0.3, 5.0
#: The process is killed if its own clock fails to stop an expression.
_LIMITS = ProcessLimits(seconds=30, memory=500_000_000)
#: The number of processes at a time: expressions that take long do not take the whole machine.
_AT_ONCE = 2
_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
_TOO_SLOW = "takes too long to compile"


@dataclass(frozen=True, slots=True)
class Matching:
    """A pattern and a text. The pattern may match anywhere in a line, or has to match the `whole` text."""

    pattern: str
    text: str
    whole: bool = False


async def match_patterns(matchings: Sequence[Matching]) -> list[bool | None]:
    """Whether each pattern matches; None if it is not a regular expression or takes too long."""
    results: list[bool | None] = await _in_process("match_here", [astuple(matching) for matching in matchings], None)
    return results


async def pattern_problems(patterns: Sequence[str]) -> list[str | None]:
    """What is wrong with each pattern, as in "The pattern ..."; None for a regular expression."""
    results: list[str | None] = await _in_process("compile_here", list(patterns), _TOO_SLOW)
    return results


async def _in_process(function: str, arguments: list[Any], otherwise: Any) -> list[Any]:
    if not arguments:
        return []
    async with _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE)):
        try:
            results: list[Any] = await run_limited(f"{__name__}:{function}", arguments, _LIMITS, preloaded=True)
        except LimitReached:
            return [otherwise] * len(arguments)
        return results


def match_here(matchings: list[tuple[str, str, bool]]) -> list[bool | None]:
    """In the limited process: the results of `match_patterns`."""
    clock = _Clock()
    return [clock.result(partial(_matches, *matching), None) for matching in matchings]


def compile_here(patterns: list[str]) -> list[str | None]:
    """In the limited process: the results of `pattern_problems`."""
    clock = _Clock()
    return [clock.result(partial(_problem, pattern), _TOO_SLOW) for pattern in patterns]


def _matches(pattern: str, text: str, whole: bool) -> bool | None:
    try:
        return (re.fullmatch(pattern, text) if whole else re.search(pattern, text, re.MULTILINE)) is not None
    except (re.error, OverflowError, RecursionError):
        return None


def _problem(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a regular expression: {error}"
    return None


class _OutOfTime(Exception):
    """An expression has used its share of time."""


class _Clock:
    """Shares the processor time of this process among expressions. Matching notices signals, so a timer can interrupt it."""

    def __init__(self) -> None:
        self._end = time.process_time() + _TOGETHER

    def result(self, work: Callable[[], Any], otherwise: Any) -> Any:
        """What `work` returns; `otherwise` if it takes too long."""
        left = min(_EACH, self._end - time.process_time())
        if left <= 0:
            return otherwise
        try:
            with _interrupted_after(left):
                return work()
        except _OutOfTime:
            return otherwise


@contextlib.contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Raise `_OutOfTime` after some seconds of processor time."""
    signal.signal(signal.SIGVTALRM, _interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _OutOfTime

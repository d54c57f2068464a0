"""`run_limited`: runs a function in a limited process and returns its result, or raises its error or the limit that it reached.

Resource limits of a process, and their enforcement.

Apply regular expressions that users wrote: the only way to do so, in a process with limits.

Python's expressions backtrack: some need years to match a short text, and some need seconds only to be compiled. Either would stop the
process that tries, with all its threads. Here each expression has a share of processor time, and those that need more have no result.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from gateleg.errors import GatelegError
from gateleg.limited_process.children import ServerGone, open_child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from gateleg.limited_process.children import Child

__all__ = ["Matching", "match_patterns", "pattern_problems"]


async def run_limited(
    function: str,
    argument: Any,
    limits: ProcessLimits,
    *,
    refusals: Sequence[type[GatelegError]] = (),
    imports: Sequence[str] = (),
    preloaded: bool = False,
) -> Any:
    """Call a function, named as `module:function`, with an argument in a separate process, and return its result.

    Errors of the classes in `refusals` are raised again here. Raises `LimitReached` if the process reaches a limit, and `RuntimeError` for
    any other error of the function. Cancelling the task kills the process. `imports` names modules that the function imports late.
    With `preloaded`, the process is forked from a server that has imported the function's module and `imports`, whose memory does not
    count.
    """
    request = {"function": function, "argument": argument, "limits": asdict(limits), "imports": list(imports), "path": sys.path}
    modules = [function.partition(":")[0], *imports]
    for again in (True, False):
        try:
            return await _run(modules, json.dumps(request).encode(), limits, refusals, preloaded)
        except ServerGone:
            # The server ends itself after some idle time.
            if not again:
                raise LimitReached("crash", "The process could not be started.") from None
    raise AssertionError("the second attempt returns or raises")


def run_limited_blocking(function: str, argument: Any, limits: ProcessLimits, **options: Any) -> Any:
    """As `run_limited`, for code that cannot await: the calling thread waits."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, run_limited(function, argument, limits, **options)).result()


async def _run(
    modules: Sequence[str], request: bytes, limits: ProcessLimits, refusals: Sequence[type[GatelegError]], preloaded: bool
) -> Any:
    with tempfile.TemporaryFile() as errors:
        child = await _opened(modules, errors, preloaded)
        ending = asyncio.ensure_future(asyncio.to_thread(child.talk, request, limits.output))
        try:
            answer = await asyncio.wait_for(asyncio.shield(ending), limits.seconds)
        except TimeoutError:
            raise LimitReached("seconds", f"It took more than {limits.seconds:g} seconds.") from None
        finally:
            child.kill()
            with contextlib.suppress(asyncio.CancelledError, ServerGone):
                await ending
        return _result(answer, child.status, limits, refusals, errors)


async def _opened(modules: Sequence[str], errors: IO[bytes], preloaded: bool) -> Child:
    opening = asyncio.ensure_future(asyncio.to_thread(open_child, modules, errors, preloaded=preloaded))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        # The thread still starts the process, which must be killed.
        with contextlib.suppress(OSError, ServerGone):
            child = await opening
            child.kill()
            await asyncio.to_thread(child.talk, b"", 0)
        raise


def _result(answer: bytes | None, status: int, limits: ProcessLimits, refusals: Sequence[type[GatelegError]], errors: IO[bytes]) -> Any:
    if answer is None or STATUSES.get(status) == "output":
        raise LimitReached("output", f"It returned more than {limits.output:,} bytes.")
    if STATUSES.get(status) == "memory":
        raise LimitReached("memory", f"It needed more than {limits.memory:,} bytes of memory.")
    if STATUSES.get(status) == "seconds":
        raise LimitReached("seconds", f"It took more than {limits.seconds:g} seconds.")
    try:
        reply: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise LimitReached("crash", f"It needed too much memory, or crashed a library (exit status {status}).") from None
    if "failed" in reply:
        size = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, size - 4_000))
        raise RuntimeError(f"the function in the limited process failed: {reply['failed']}\n{errors.read().decode(errors='replace')}")
    if "refused" in reply:
        raise _refusal(reply["refused"], refusals)
    return reply["result"]


def _refusal(described: dict[str, Any], refusals: Sequence[type[GatelegError]]) -> GatelegError:
    kind = next((kind for kind in refusals if kind.code == described["code"]), GatelegError)
    return kind._restore((described["text"],), {name: described[name] for name in ("message", "why", "fix", "details")})


#: Exit statuses of a process that ran out of memory, and of a process that wrote too much.
NO_MEMORY, TOO_MUCH = 3, 4
_PAGE = 4096
STATUSES: dict[int, Literal["seconds", "memory", "output"]] = {NO_MEMORY: "memory", TOO_MUCH: "output"}
if sys.platform != "win32":
    STATUSES |= {-signal.SIGXCPU: "seconds", -signal.SIGALRM: "seconds", -signal.SIGXFSZ: "output"}


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Resource limits of a process."""

    #: seconds of wall clock time, and of CPU time
    seconds: float
    #: bytes of address space
    memory: int
    #: bytes of the result, and of each file that the process writes
    output: int = 100_000_000


class LimitReached(GatelegError):
    """A process reached one of its limits, or crashed without a result (`crash`)."""

    status = 422

    def __init__(self, limit: Literal["seconds", "memory", "output", "crash"], message: str) -> None:
        super().__init__(message)
        self.limit = limit


def limit_this_process(limits: ProcessLimits, loaded: int = 0) -> None:
    """Make the system enforce the limits on this process, even if its parent no longer waits for it.

    `loaded` is the number of bytes of address space that were in use before the work began, and that do not count.
    """
    try:
        import resource
    except ImportError:
        return
    seconds = int(limits.seconds) + 1
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, limits.output),
        (resource.RLIMIT_AS, limits.memory + loaded),
    ):
        # Keep limits of the system that are lower.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def address_space() -> int:
    """The size of this process's address space in bytes; 0 if unknown."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * _PAGE
    except (OSError, ValueError):
        return 0


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
    found: list[bool | None] = await _in_process("match_here", [astuple(one) for one in matchings], None)
    return found


async def pattern_problems(patterns: Sequence[str]) -> list[str | None]:
    """What is wrong with each pattern, as in "The pattern ..."; None for a regular expression."""
    found: list[str | None] = await _in_process("compile_here", list(patterns), _TOO_SLOW)
    return found


async def _in_process(function: str, arguments: list[Any], otherwise: Any) -> list[Any]:
    if not arguments:
        return []
    async with _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE)):
        try:
            found: list[Any] = await run_limited(f"{__name__}:{function}", arguments, _LIMITS, preloaded=True)
        except LimitReached:
            return [otherwise] * len(arguments)
        return found


def match_here(matchings: list[tuple[str, str, bool]]) -> list[bool | None]:
    """In the limited process: the results of `match_patterns`."""
    clock = _Clock()
    return [clock.result(partial(_matches, *one), None) for one in matchings]


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
    """Raise `_OutOfTime` after some seconds of processor time, where the system has such timers; elsewhere the process is killed later."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGVTALRM, _interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _OutOfTime

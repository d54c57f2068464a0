"""`run_limited` calls a function on untrusted input in a process with limits on time, memory and output.

A malicious file may be expensive to read, or crash the library that reads it. In a separate process it can cost at most these limits.

    limits = ProcessLimits(seconds=20, memory=500_000_000)
    invoice = await run_limited("shop.invoices:read", {"path": str(path)}, limits, refusals=[BadInvoice])

The function takes and returns JSON values. Its module is imported before the memory limit applies, because libraries that run out of memory
while loading fail in obscure ways.

Starting a process and importing its libraries takes some tenths of a second. With `preloaded=True`, a fork server that has imported them
forks a process for each call. Calls stay isolated from each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Literal

from gateleg.errors import GatelegError
from gateleg.processes.children import ONE_THREAD, Child

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.processes.program import Connection

_CALL = f"{__name__}:call"
#: Exit statuses of a process that ran out of memory, and of a process that wrote too much.
_NO_MEMORY, _TOO_MUCH = 3, 4
_LIMIT_OF_STATUS: dict[int, Literal["seconds", "memory", "output"]] = {
    _NO_MEMORY: "memory",
    _TOO_MUCH: "output",
    -signal.SIGXCPU: "seconds",
    -signal.SIGALRM: "seconds",
    -signal.SIGXFSZ: "output",
}
_PAGE = 4096
#: How much of the printed output an error quotes.
_QUOTED_BYTES = 4_000


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
    request = {
        "function": function,
        "argument": argument,
        "limits": asdict(limits),
        "imports": list(imports),
        "path": sys.path,
        "preloaded": preloaded,
    }
    content = json.dumps(request).encode()
    modules = [function.partition(":")[0], *imports]
    # A fork server may end itself, after some idle time, before it takes the call.
    for _ in range(2):
        with tempfile.TemporaryFile() as output:
            opening = (
                Child.fork(_CALL, max_line=limits.output, modules=modules, output=output)
                if preloaded
                else Child.start(_CALL, max_line=limits.output, output=output, env=ONE_THREAD)
            )
            async with await opening as child:
                answer = await _answer_of(child, content, limits)
            if child.has_started:
                return _result(answer, child.status, limits, refusals, output)
    raise LimitReached("crash", "The process could not be started.")


def run_limited_blocking(function: str, argument: Any, limits: ProcessLimits, **options: Any) -> Any:
    """As `run_limited`, for code that cannot await: the calling thread waits."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, run_limited(function, argument, limits, **options)).result()


async def _answer_of(child: Child, request: bytes, limits: ProcessLimits) -> bytes:
    try:
        async with asyncio.timeout(limits.seconds):
            child.send(request)
            answer = await child.receive()
            await child.wait()
            return answer
    except TimeoutError:
        raise _reached("seconds", limits) from None
    except ValueError:
        raise _reached("output", limits) from None


def _reached(limit: Literal["seconds", "memory", "output"], limits: ProcessLimits) -> LimitReached:
    messages = {
        "seconds": f"It took more than {limits.seconds:g} seconds.",
        "memory": f"It needed more than {limits.memory:,} bytes of memory.",
        "output": f"It returned more than {limits.output:,} bytes.",
    }
    return LimitReached(limit, messages[limit])


def _result(answer: bytes, status: int, limits: ProcessLimits, refusals: Sequence[type[GatelegError]], output: IO[bytes]) -> Any:
    if status in _LIMIT_OF_STATUS:
        raise _reached(_LIMIT_OF_STATUS[status], limits)
    try:
        reply: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise LimitReached("crash", f"It needed too much memory, or crashed a library (exit status {status}).") from None
    if "failed" in reply:
        output.seek(max(0, output.seek(0, os.SEEK_END) - _QUOTED_BYTES))
        raise RuntimeError(f"the function in the limited process failed: {reply['failed']}\n{output.read().decode(errors='replace')}")
    if "refused" in reply:
        raise _refusal(reply["refused"], refusals)
    return reply["result"]


def _refusal(described: dict[str, Any], refusals: Sequence[type[GatelegError]]) -> GatelegError:
    kind = next((kind for kind in refusals if kind.code == described["code"]), GatelegError)
    return kind._restore((described["text"],), {name: described[name] for name in ("message", "why", "fix", "details")})


def call(connection: Connection) -> None:
    """In the limited process: call the function of a request, and send its result or error."""
    try:
        answer = json.dumps(_call(json.loads(connection.receive()))).encode()
    except Exception as error:
        status = _status_of(error)
        if status is not None:
            os._exit(status)
        traceback.print_exc()
        answer = json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode()
    connection.send(answer)


def _call(request: dict[str, Any]) -> dict[str, Any]:
    loaded = _address_space() if request["preloaded"] else 0
    sys.path += [folder for folder in request["path"] if folder not in sys.path]
    module, _, name = request["function"].partition(":")
    function = getattr(import_module(module), name)
    for other in request["imports"] if not request["preloaded"] else ():
        import_module(other)
    _limit_this_process(ProcessLimits(**request["limits"]), loaded)
    try:
        return {"result": function(request["argument"])}
    except GatelegError as error:
        described = {"code": error.code, "message": error.message, "why": error.why, "fix": error.fix, "details": error.details}
        return {"refused": described | {"text": str(error)}}


def _status_of(error: Exception) -> int | None:
    """The exit status for an error due to a limit; None for any other error."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return _NO_MEMORY
    # A library that is loaded late may fail for lack of memory for its code.
    if isinstance(error, ImportError) and ("failed to map segment" in str(error) or "allocate memory" in str(error)):
        return _NO_MEMORY
    return _TOO_MUCH if getattr(error, "errno", None) == errno.EFBIG else None


def _limit_this_process(limits: ProcessLimits, loaded: int) -> None:
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


def _address_space() -> int:
    """The size of this process's address space in bytes; 0 if unknown."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * _PAGE
    except (OSError, ValueError):
        return 0

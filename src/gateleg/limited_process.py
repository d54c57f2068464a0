"""Running a function on what somebody else has sent, in a process of its own with limits on time, memory and output. Imports no room.

A file may be made to cost as much as possible, or to break the library that reads it. A process that is killed for it costs its limit and
nothing else.

    limits = ProcessLimits(seconds=20, memory=500_000_000)
    found = await run_limited("shop.invoices:read", {"path": str(path)}, limits, refusals=[BadInvoice])

The function takes and returns JSON values. Its module is imported before the limit on memory holds: a library that lacks memory while it is
loaded fails in ways that say nothing. This module is also the program of that process: `python -m gateleg.limited_process`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Literal

from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LimitReached", "ProcessLimits", "run_limited"]

#: The statuses of a process that has run out of memory, and of one that has written too much.
_NO_MEMORY, _TOO_MUCH = 3, 4
_PIECE = 1 << 20
_STATUSES: dict[int, Literal["seconds", "memory", "output"]] = {_NO_MEMORY: "memory", _TOO_MUCH: "output"}
if sys.platform != "win32":
    _STATUSES |= {-signal.SIGXCPU: "seconds", -signal.SIGALRM: "seconds", -signal.SIGXFSZ: "output"}


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a process may cost."""

    #: by the clock, and of processor time
    seconds: float
    #: bytes of address space
    memory: int
    #: bytes of its answer, and of each file that it writes
    output: int = 100_000_000


class LimitReached(GatelegError):
    """A process that was ended by one of its limits, or that broke without an answer (`crash`)."""

    code = "limit-reached"
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
) -> Any:
    """What a function, named as `module:function`, returns for an argument in a process of its own.

    Errors of the classes in `refusals` are raised here as they were there; `LimitReached` when the process reaches a limit, and
    `RuntimeError` for any other error of the function. `imports` names modules that it imports late. A task that is cancelled ends the
    process.
    """
    request = {"function": function, "argument": argument, "limits": asdict(limits), "imports": list(imports), "path": sys.path}
    # numpy's threads would each take a share of the memory.
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}
    with tempfile.TemporaryFile() as errors:
        # Not by the event loop: uvloop forks, which can hang in a process with threads.
        process = subprocess.Popen(
            [sys.executable, "-m", "gateleg.limited_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environ,
            start_new_session=True,
        )
        ending = asyncio.ensure_future(asyncio.to_thread(_talk, process, json.dumps(request).encode(), limits.output))
        try:
            answer = await asyncio.wait_for(asyncio.shield(ending), limits.seconds)
        except TimeoutError:
            raise LimitReached("seconds", f"It took more than {limits.seconds:g} seconds.") from None
        finally:
            _kill(process)
            with contextlib.suppress(asyncio.CancelledError):
                await ending
        return _result(answer, process.returncode, limits, refusals, errors)


def _talk(process: subprocess.Popen[bytes], request: bytes, most: int) -> bytes | None:
    """Send the request and read the answer; None when it is longer than it may be."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout as output:
        # A process that has ended meanwhile reads no more.
        with contextlib.suppress(BrokenPipeError), process.stdin as sent:
            sent.write(request)
        parts: list[bytes] = []
        size = 0
        while part := output.read1(_PIECE):  # type: ignore[attr-defined]
            parts.append(part)
            size += len(part)
            if size > most:
                _kill(process)
                break
    process.wait()
    return None if size > most else b"".join(parts)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with everything below it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)


def _result(answer: bytes | None, status: int, limits: ProcessLimits, refusals: Sequence[type[GatelegError]], errors: IO[bytes]) -> Any:
    if answer is None or _STATUSES.get(status) == "output":
        raise LimitReached("output", f"It gives more than {limits.output:,} bytes.")
    if _STATUSES.get(status) == "memory":
        raise LimitReached("memory", f"It takes more than {limits.memory:,} bytes of memory.")
    if _STATUSES.get(status) == "seconds":
        raise LimitReached("seconds", f"It took more than {limits.seconds:g} seconds.")
    try:
        reply: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise LimitReached("crash", f"It took too much memory, or broke the library that reads it (status {status}).") from None
    if "failed" in reply:
        size = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, size - 4_000))
        raise RuntimeError(f"a function with limits has failed: {reply['failed']}\n{errors.read().decode(errors='replace')}")
    if "refused" in reply:
        raise _refusal(reply["refused"], refusals)
    return reply["result"]


def _refusal(described: dict[str, Any], refusals: Sequence[type[GatelegError]]) -> GatelegError:
    kind = next((kind for kind in refusals if kind.code == described["code"]), GatelegError)
    return kind._restore((described["text"],), {name: described[name] for name in ("message", "why", "fix", "details")})


def _limit(limits: ProcessLimits) -> None:
    """Have the system end this process when it takes too much, also when nobody waits for it any more."""
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
        (resource.RLIMIT_AS, limits.memory),
    ):
        # Lower limits of the system stay as they are.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    sys.path += [folder for folder in request["path"] if folder not in sys.path]
    module, _, name = request["function"].partition(":")
    function = getattr(import_module(module), name)
    for other in request["imports"]:
        import_module(other)
    _limit(ProcessLimits(**request["limits"]))
    try:
        return {"result": function(request["argument"])}
    except GatelegError as error:
        described = {"code": error.code, "message": error.message, "why": error.why, "fix": error.fix, "details": error.details}
        return {"refused": described | {"text": str(error)}}


def main() -> None:
    """Call the function that standard input names, and write what it returns to standard output."""
    # What libraries print goes with the errors, not into the answer.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        found = _answer(json.loads(sys.stdin.buffer.read()))
        output.write(json.dumps(found).encode())
        output.flush()
    except Exception as error:
        status = _status_of(error)
        if status is not None:
            os._exit(status)
        traceback.print_exc()
        output.write(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
        output.flush()
    # What libraries do when a program ends may take long, or break.
    os._exit(0)


def _status_of(error: Exception) -> int | None:
    """The status that says which limit an error came from; None for an error that is not from one."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return _NO_MEMORY
    # A library that is loaded late finds no room for its code.
    if isinstance(error, ImportError) and ("failed to map segment" in str(error) or "allocate memory" in str(error)):
        return _NO_MEMORY
    return _TOO_MUCH if getattr(error, "errno", None) == errno.EFBIG else None


if __name__ == "__main__":
    main()

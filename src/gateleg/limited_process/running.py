"""`run_limited`: runs a function in a limited process and returns its result, or raises its error or the limit that it reached."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any

from gateleg.errors import GatelegError
from gateleg.limited_process.children import ServerGone, open_child
from gateleg.limited_process.limits import STATUSES, LimitReached, ProcessLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.limited_process.children import Child


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

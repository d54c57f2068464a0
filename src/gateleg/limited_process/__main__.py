"""`python -m gateleg.limited_process`: calls one function; with `fork-server` and modules, forks a process for each call.

The program of a limited process, which runs one function and returns JSON, and of the fork server.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError
from gateleg.limited_process.running import NO_MEMORY, TOO_MUCH, ProcessLimits, address_space, limit_this_process

if TYPE_CHECKING:
    from collections.abc import Sequence


#: Seconds after which an idle server ends. The next call starts another one.
_IDLE_SECONDS = 300.0


def main() -> None:
    """Call the function named on standard input, and write its result to standard output."""
    # Redirect the output of libraries to standard error, so that it does not mix with the answer.
    output = os.dup(1)
    os.dup2(2, 1)
    _run(sys.stdin.buffer.read(), output, 0)


def serve_forks(control: int, modules: Sequence[str]) -> None:
    """Import modules, then fork a process for each call received over a socket, until the other end is closed.

    Each call sends four file descriptors: to read the request, to write the answer, to write the pid and exit status, and for error output.
    """
    path = json.loads(sys.stdin.buffer.readline())
    sys.path += [folder for folder in path if folder not in sys.path]
    for name in modules:
        # The function that needs a missing module reports it.
        with contextlib.suppress(ImportError):
            import_module(name)
    with socket.socket(fileno=control) as calls:
        calls.settimeout(_IDLE_SECONDS)
        while True:
            try:
                _, files, _, _ = socket.recv_fds(calls, 1, 4)
            except TimeoutError:
                return
            _reap()
            if len(files) < 4:
                return
            if os.fork() == 0:
                calls.close()
                _supervise(*files)
            for file in files:
                os.close(file)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _supervise(requests: int, answer: int, statuses: int, errors: int) -> None:
    """Fork the process that does the work, and write its pid and exit status to `statuses`."""
    worker = os.fork()
    if worker == 0:
        # Give it its own process group, so that it can be killed with its descendants.
        os.setsid()
        os.close(statuses)
        for standard in (1, 2):
            os.dup2(errors, standard)
        with os.fdopen(requests, "rb") as content:
            request = content.read()
        _run(request, answer, address_space())
    os.write(statuses, b"%d\n" % worker)
    for file in (requests, answer, errors):
        os.close(file)
    _, status = os.waitpid(worker, 0)
    os.write(statuses, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _run(request: bytes, output: int, loaded: int) -> None:
    """Answer a request, and exit."""
    with os.fdopen(output, "wb") as answer:
        try:
            found = _answer(json.loads(request), loaded)
            answer.write(json.dumps(found).encode())
            answer.flush()
        except Exception as error:
            status = _status_of(error)
            if status is not None:
                os._exit(status)
            traceback.print_exc()
            sys.stderr.flush()
            answer.write(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
            answer.flush()
        # Skip exit handlers of libraries, which may be slow or crash.
        os._exit(0)


def _answer(request: dict[str, Any], loaded: int) -> dict[str, Any]:
    sys.path += [folder for folder in request["path"] if folder not in sys.path]
    module, _, name = request["function"].partition(":")
    function = getattr(import_module(module), name)
    if not loaded:
        for other in request["imports"]:
            import_module(other)
    limit_this_process(ProcessLimits(**request["limits"]), loaded)
    try:
        return {"result": function(request["argument"])}
    except GatelegError as error:
        described = {"code": error.code, "message": error.message, "why": error.why, "fix": error.fix, "details": error.details}
        return {"refused": described | {"text": str(error)}}


def _status_of(error: Exception) -> int | None:
    """The exit status for an error due to a limit; None for any other error."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return NO_MEMORY
    # A library that is loaded late may fail for lack of memory for its code.
    if isinstance(error, ImportError) and ("failed to map segment" in str(error) or "allocate memory" in str(error)):
        return NO_MEMORY
    return TOO_MUCH if getattr(error, "errno", None) == errno.EFBIG else None


if __name__ == "__main__":
    if sys.argv[1:2] == ["fork-server"]:
        serve_forks(int(sys.argv[2]), sys.argv[3:])
    else:
        main()

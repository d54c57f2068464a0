"""The supervisor: the parent process of a handler's process, which kills the handler and all its descendants, and runs no other code.

A handler that computes in C or hangs cannot end itself, and a worker that was killed by SIGKILL cannot end anything. So a small process
stands between the two. It waits until the handler ends or the worker's end of a pipe (the lifeline) is closed, kills all remaining
processes, removes the scratch folder whose path it read from the lifeline, and exits with the handler's status.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import shutil
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
#: How long to wait for killed processes to end. A process that hangs in the kernel is left to the system.
_REAP_TIMEOUT_SECONDS = 2.0


def supervised(lifeline: int, run: Callable[[], None], *, only: int) -> None:
    """Call `run` in a child process, and exit when the child has ended or the lifeline is closed. Does not return.

    `only` is a file descriptor that only the child keeps open. Call this while the process has a single thread. On Linux, orphaned
    descendants become children of this process, so it also finds processes that have left the handler's process group. On other systems
    it kills only the group.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken = _wake_on(signal.SIGCHLD, signal.SIGTERM)
    parent = os.getpid()
    handler = os.fork()
    if handler == 0:
        _become_handler(parent, lifeline)
        run()
        os._exit(0)
    with contextlib.suppress(OSError):
        os.setpgid(handler, handler)
    os.close(only)
    folder = bytearray()
    status = _wait(handler, lifeline, woken, folder)
    _kill_all(handler)
    if folder:
        shutil.rmtree(os.fsdecode(bytes(folder)), ignore_errors=True)
    _end_like(status)


def _become_handler(parent: int, lifeline: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.close(lifeline)
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    """Call prctl (Linux only)."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _wake_on(*signals: int) -> int:
    """Return a file descriptor from which the numbers of received signals can be read."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in signals:
        signal.signal(number, lambda *_: None)
    return woken


def _wait(handler: int, lifeline: int, woken: int, folder: bytearray) -> int:
    """Wait until the handler or the worker ends, or SIGTERM arrives, and return the handler's wait status.

    Before the worker closes the lifeline, it sends the path of the scratch folder through it.
    """
    while True:
        ready, _, _ = select.select([lifeline, woken], [], [])
        status = _reap(handler)
        if status is not None:
            return status
        if lifeline in ready:
            data = os.read(lifeline, 8192)
            folder += data
            if not data:
                return int(signal.SIGKILL)
        if woken in ready and signal.SIGTERM in os.read(woken, 512):
            return int(signal.SIGKILL)


def _reap(handler: int) -> int | None:
    """Reap the children that have ended. Returns the wait status of the handler if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            found = status if pid == handler else found
    return found


def _kill_all(handler: int) -> None:
    """Kill the handler's process group and all descendants. They are stopped first, so that none can fork in the meantime.

    A process whose parent has ended becomes a child of this one, so all are gone when this process has no children left. A scan of /proc
    alone is not enough: it may miss a process that is just changing its parent.
    """
    with contextlib.suppress(OSError):
        os.killpg(handler, signal.SIGKILL)
    until = time.monotonic() + _REAP_TIMEOUT_SECONDS
    while True:
        stopped: set[int] = set()
        while fresh := descendants(os.getpid()) - stopped:
            _signal(fresh, signal.SIGSTOP)
            stopped |= fresh
        _signal(stopped, signal.SIGKILL)
        _reap(handler)
        if not _has_children() or time.monotonic() > until:
            return
        time.sleep(0.002)


def _has_children() -> bool:
    """Whether this process has children, including ended ones that have not been reaped."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _signal(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def descendants(pid: int) -> set[int]:
    """The living descendants of a process, according to /proc.

    An ending process with several threads may already be a zombie and still be the parent of its children.
    """
    children: dict[int, list[int]] = {}
    ended: set[int] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                state, parent = _state_of(name)
                if state:
                    children.setdefault(parent, []).append(int(name))
                if state in ("Z", "X"):
                    ended.add(int(name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found - ended


def _state_of(pid: str) -> tuple[str, int]:
    """The state and the parent of a process; an empty state if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The process name is in parentheses and may contain any character.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return "", 0
    return state.decode(), int(parent)


def _end_like(status: int) -> None:
    """Exit with another process's wait status, without leaving a core file."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)

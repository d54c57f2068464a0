"""The process above a handler's: it ends the handler and everything that the handler has started, however deep, and runs no other code.

A handler that computes in C or has lost its head cannot be trusted to end itself, and a worker that is killed by SIGKILL cannot end
anybody. So a small process stands between the two: it waits for the end of the handler, or of the pipe from the worker (the lifeline),
kills what is left, removes the scratch folder that the lifeline has named, and ends as the handler has ended.
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
#: Seconds in which killed processes are collected; one that hangs in the kernel is left to the system.
_COLLECTED_WITHIN = 2.0


def supervised(lifeline: int, run: Callable[[], None], *, only: int) -> None:
    """Call `run` in a child process, and end this one once that has ended or the lifeline is closed. Does not return.

    `only` is a file descriptor that the child alone keeps.

    To be called while the process has one thread. Where the system lets it (Linux), processes whose parents have ended become children
    of this one, so that those are found too which have left the handler's process group; elsewhere the group is killed.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken = _wake_on(signal.SIGCHLD, signal.SIGTERM)
    own = os.getpid()
    handler = os.fork()
    if handler == 0:
        _become_handler(own, lifeline)
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
    """Ask the kernel for something that only Linux has."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _wake_on(*signals: int) -> int:
    """A file descriptor from which the numbers of these signals can be read as they come."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in signals:
        signal.signal(number, lambda *_: None)
    return woken


def _wait(handler: int, lifeline: int, woken: int, folder: bytearray) -> int:
    """Wait for the end of the handler, of the worker, or for being asked to end; the wait status of the handler.

    What comes through the lifeline before its end is the name of the scratch folder.
    """
    while True:
        ready, _, _ = select.select([lifeline, woken], [], [])
        status = _collect(handler)
        if status is not None:
            return status
        if lifeline in ready:
            named = os.read(lifeline, 8192)
            folder += named
            if not named:
                return int(signal.SIGKILL)
        if woken in ready and signal.SIGTERM in os.read(woken, 512):
            return int(signal.SIGKILL)


def _collect(handler: int) -> int | None:
    """Collect the children that have ended; the wait status of the handler, if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            found = status if pid == handler else found
    return found


def _kill_all(handler: int) -> None:
    """Kill the handler's group and everything below this process. All are stopped first, so that none starts another meanwhile.

    What a process has started becomes a child of this one when that process is gone. So it is over once this one has no child left, and
    not before: a look at /proc may miss what is changing its parent just then.
    """
    with contextlib.suppress(OSError):
        os.killpg(handler, signal.SIGKILL)
    until = time.monotonic() + _COLLECTED_WITHIN
    while True:
        stopped: set[int] = set()
        while fresh := descendants(os.getpid()) - stopped:
            _signal(fresh, signal.SIGSTOP)
            stopped |= fresh
        _signal(stopped, signal.SIGKILL)
        _collect(handler)
        if not _has_children() or time.monotonic() > until:
            return
        time.sleep(0.002)


def _has_children() -> bool:
    """Whether this process has children, ended ones included that are not collected."""
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
    """The living processes below one, as far as the system shows them in /proc.

    A process of several threads that is ending can be a zombie already, and still be the parent of what it has started.
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
    """The state and the parent of a process; an empty state when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name stands in parentheses and may hold anything.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return "", 0
    return state.decode(), int(parent)


def _end_like(status: int) -> None:
    """End this process as another has ended, without leaving a core file for it."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)

"""The supervisor: the parent of a process that does the work, which kills it with all its descendants, and runs no other code.

A process that computes in C or hangs cannot end itself, and a parent that was killed by SIGKILL cannot end anything. So a small process
stands between the two. They share a socket, the lifeline:

- The supervisor sends its process id at its start, and the exit status of the worker at its end, each as a line.
- The parent may send the path of a folder. It kills the worker by closing its direction of the lifeline; the operating system closes it
  when the parent dies.

The supervisor waits until either the worker ends or the lifeline is closed, kills all remaining processes, removes the folder, and exits.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import time
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
#: How long to wait for killed processes to end. A process that hangs in the kernel is left to the system.
_REAP_TIMEOUT_SECONDS = 2.0


def supervise(run: Callable[[], NoReturn], channel: int, lifeline: int) -> NoReturn:
    """Call `run` in a child process, and exit when the child has ended or the lifeline is closed.

    Only the child keeps `channel` open. Call this while the process has a single thread. On Linux, orphaned descendants become children of
    this process, so it also finds processes that have left the worker's process group. On other systems it kills only the group.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    os.set_inheritable(lifeline, False)
    woken = _wake_on(signal.SIGCHLD, signal.SIGTERM)
    parent = os.getpid()
    _tell(lifeline, parent)
    worker = os.fork()
    if worker == 0:
        _become_worker(parent, lifeline)
        run()
    with contextlib.suppress(OSError):
        os.setpgid(worker, worker)
    os.close(channel)
    folder = bytearray()
    status = _wait(worker, lifeline, woken, folder)
    _kill_all(worker)
    if folder:
        shutil.rmtree(os.fsdecode(bytes(folder)), ignore_errors=True)
    _tell(lifeline, os.waitstatus_to_exitcode(status))
    os._exit(0)


def _tell(lifeline: int, number: int) -> None:
    # The parent may have ended.
    with contextlib.suppress(OSError):
        os.write(lifeline, b"%d\n" % number)


def _become_worker(parent: int, lifeline: int) -> None:
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


def _wait(worker: int, lifeline: int, woken: int, folder: bytearray) -> int:
    """Wait until the worker ends, the lifeline is closed, or SIGTERM arrives, and return the worker's wait status."""
    while True:
        ready, _, _ = select.select([lifeline, woken], [], [])
        status = reap(worker)
        if status is not None:
            return status
        if lifeline in ready:
            try:
                data = os.read(lifeline, 8192)
            except ConnectionError:
                data = b""
            folder += data
            if not data:
                return int(signal.SIGKILL)
        if woken in ready and signal.SIGTERM in os.read(woken, 512):
            return int(signal.SIGKILL)


def reap(worker: int | None = None) -> int | None:
    """Reap the children that have ended. Returns the wait status of the worker if it is among them."""
    result = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            result = status if pid == worker else result
    return result


def _kill_all(worker: int) -> None:
    """Kill the worker's process group and all descendants. They are stopped first, so that none can fork in the meantime.

    A process whose parent has ended becomes a child of this one, so all are gone when this process has no children left. A scan of /proc
    alone is not enough: it may miss a process that is just changing its parent.
    """
    with contextlib.suppress(OSError):
        os.killpg(worker, signal.SIGKILL)
    until = time.monotonic() + _REAP_TIMEOUT_SECONDS
    while _has_children() and time.monotonic() < until:
        stopped: set[int] = set()
        while fresh := descendants(os.getpid()) - stopped:
            _signal(fresh, signal.SIGSTOP)
            stopped |= fresh
        _signal(stopped, signal.SIGKILL)
        reap()
        if _has_children():
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
    below: set[int] = set()
    waiting = [pid]
    while waiting:
        own = children.get(waiting.pop(), [])
        below.update(own)
        waiting += own
    return below - ended


def _state_of(pid: str) -> tuple[str, int]:
    """The state and the parent of a process; an empty state if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The process name is in parentheses and may contain any character.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return "", 0
    return state.decode(), int(parent)

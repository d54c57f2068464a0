"""Resource limits of a process, and their enforcement."""

from __future__ import annotations

import contextlib
import signal
import sys
from dataclasses import dataclass
from typing import Literal

from gateleg.errors import GatelegError

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

    code = "limit-reached"
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

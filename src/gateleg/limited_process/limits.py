"""Resource limits of a process, and how they are enforced."""

from __future__ import annotations

import contextlib
import signal
import sys
from dataclasses import dataclass
from typing import Literal

from gateleg.errors import GatelegError

#: Exit statuses of a process that ran out of memory, and of one that wrote too much.
NO_MEMORY, TOO_MUCH = 3, 4
_PAGE = 4096
STATUSES: dict[int, Literal["seconds", "memory", "output"]] = {NO_MEMORY: "memory", TOO_MUCH: "output"}
if sys.platform != "win32":
    STATUSES |= {-signal.SIGXCPU: "seconds", -signal.SIGALRM: "seconds", -signal.SIGXFSZ: "output"}


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Resource limits of a process."""

    #: wall clock and processor time
    seconds: float
    #: bytes of address space
    memory: int
    #: bytes of its answer, and of each file it writes
    output: int = 100_000_000


class LimitReached(GatelegError):
    """A process reached one of its limits, or crashed without an answer (`crash`)."""

    code = "limit-reached"
    status = 422

    def __init__(self, limit: Literal["seconds", "memory", "output", "crash"], message: str) -> None:
        super().__init__(message)
        self.limit = limit


def limit_this_process(limits: ProcessLimits, loaded: int = 0) -> None:
    """Have the system enforce the limits on this process, even if nobody waits for it any more.

    `loaded` are the bytes of address space that were taken before its work began, and that do not count.
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
        # Keep lower limits of the system.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def address_space() -> int:
    """The size of this process's address space in bytes; 0 if unknown."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * _PAGE
    except (OSError, ValueError):
        return 0

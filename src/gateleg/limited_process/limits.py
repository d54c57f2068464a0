"""What a process may cost, and how the system is asked to hold it to that."""

from __future__ import annotations

import contextlib
import signal
import sys
from dataclasses import dataclass
from typing import Literal

from gateleg.errors import GatelegError

#: The statuses of a process that has run out of memory, and of one that has written too much.
NO_MEMORY, TOO_MUCH = 3, 4
_PAGE = 4096
STATUSES: dict[int, Literal["seconds", "memory", "output"]] = {NO_MEMORY: "memory", TOO_MUCH: "output"}
if sys.platform != "win32":
    STATUSES |= {-signal.SIGXCPU: "seconds", -signal.SIGALRM: "seconds", -signal.SIGXFSZ: "output"}


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


def limit_this_process(limits: ProcessLimits, loaded: int = 0) -> None:
    """Have the system end this process when it takes too much, also when nobody waits for it any more.

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
        # Lower limits of the system stay as they are.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def address_space() -> int:
    """The bytes of address space that this process has; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * _PAGE
    except (OSError, ValueError):
        return 0

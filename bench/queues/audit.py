"""The record that every handler writes: when it started, and when its job was submitted. Workers are measured by it alone."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

_file: int | None = None


def start(sent: int) -> None:
    """Note that a job has been started. `sent` is when it was submitted, in nanoseconds."""
    global _file
    if _file is None:
        _file = os.open(os.environ["BENCH_AUDIT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(_file, b"%d %d\n" % (time.time_ns(), sent))


@dataclass(frozen=True)
class Starts:
    """The starts of all jobs, in order: when each was, and how long after its submission."""

    times: list[int]
    waits: list[int]

    @classmethod
    def read(cls, path: Path) -> "Starts":
        """What is in the file."""
        lines = sorted((int(at), int(sent)) for at, sent in (line.split() for line in path.read_text().splitlines()))
        return cls([at for at, _ in lines], [at - sent for at, sent in lines])

    def rate(self) -> float:
        """Jobs a second. The first tenth is left out: workers are still starting."""
        times = self.times[len(self.times) // 10 :]
        return (len(times) - 1) / (times[-1] - times[0]) * 1e9

    def wait(self, part: float = 0.5) -> float:
        """The milliseconds from submission to start that a part of the jobs has stayed under."""
        return sorted(self.waits)[int(part * (len(self.waits) - 1))] / 1e6


def lines(path: Path) -> int:
    """How many jobs have been started."""
    return path.read_bytes().count(b"\n") if path.exists() else 0

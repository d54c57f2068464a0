"""What the tests run in child processes; it imports little, as each process loads it."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gateleg.errors import GatelegError
from gateleg.processes import Connection, ProcessLimits, run_limited


class Refused(GatelegError):
    code = "refused"
    fix = "Send another."


def double(number: int) -> int:
    print("what a library prints is not the answer")
    return 2 * number


def refuse(details: dict[str, Any]) -> None:
    error = Refused("No.", why="It is broken.")
    error.details = details
    raise error


def fail(_: Any) -> None:
    raise KeyError("x")


def spin(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    while True:
        time.sleep(0.001)


def fill(_: Any) -> int:
    return len(b"x" * 2_000_000_000)


def write(path: str) -> None:
    with Path(path).open("wb") as file:
        for _ in range(100):
            file.write(b"x" * 1_000_000)


def talk(size: int) -> str:
    return "x" * size


def crash(_: Any) -> None:
    os.abort()


_calls: list[None] = []


def count_calls(_: Any) -> int:
    _calls.append(None)
    return len(_calls)


def leave_a_process(_: Any) -> int:
    return subprocess.Popen(["sleep", "3600"], start_new_session=True).pid


def echo(connection: Connection) -> None:
    count = 0
    while (line := connection.receive()) not in (b"", b"end\n"):
        connection.send(line.rstrip(b"\n"))
        count += 1
    print(f"echoed {count} lines")


def start_and_wait(connection: Connection) -> None:
    connection.send(f"{os.getpid()} {leave_a_process(None)}".encode())
    while True:
        time.sleep(1)


if __name__ == "__main__":
    limits = ProcessLimits(seconds=3600, memory=1_000_000_000)
    asyncio.run(run_limited("tests.processes.functions:spin", sys.argv[1], limits, preloaded="preloaded" in sys.argv))

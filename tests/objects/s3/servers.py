"""Real S3 servers, started for a test and ended after it."""

import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateleg.net import Credentials

CREDENTIALS = Credentials("gateleg-access-key-1", "gateleg-secret-key-1")
_LONGEST = 600


def program(name: str, package: str, folder: Path) -> str:
    """A command of this environment or the system, or else installed from the registry into a separate environment."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is not None:
        return found
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    done = subprocess.run([folder / "bin" / "pip", "install", "-q", package], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{package} cannot be installed here")
    return str(folder / "bin" / name)


@contextmanager
def served(command: list[str], port: int, log: Path) -> Iterator[str]:
    """Run a server until the end of the block; its URL once it answers."""
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _wait(url, process, log)
            yield url
        finally:
            process.terminate()


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(_LONGEST):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError as answer:
            answer.close()
            return
        except OSError:
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(log.read_text()) from None
        else:
            return
    raise AssertionError(f"The server does not answer: {log.read_text()}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

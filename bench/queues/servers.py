"""PostgreSQL and Redis of this machine, started privately on free ports and stopped again."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Where Debian keeps PostgreSQL, which is not on the path.
_DEBIAN = Path("/usr/lib/postgresql")


class Missing(Exception):
    """A server is not on this machine, or does not start."""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def redis() -> Iterator[str]:
    """A Redis in memory; its URL."""
    binary = shutil.which("redis-server")
    if binary is None:
        raise Missing("there is no redis-server")
    port = free_port()
    with tempfile.TemporaryDirectory() as place, _running([binary, "--port", str(port), "--save", "", "--dir", place], signal.SIGTERM):
        _wait(lambda: _listens(port))
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL with its usual settings; its address."""
    binaries = _postgres_binaries()
    port = free_port()
    place = tempfile.mkdtemp()
    try:
        run: list[str] = []
        if os.getuid() == 0:
            # It refuses to run as root.
            shutil.chown(place, "postgres", "postgres")
            run = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        initdb = [*run, str(binaries / "initdb"), "-D", f"{place}/data", "-U", "bench", "--auth=trust"]
        done = subprocess.run(initdb, capture_output=True, text=True, check=False, cwd=place)
        if done.returncode:
            raise Missing(done.stderr.strip().splitlines()[-1])
        server = [*run, str(binaries / "postgres"), "-D", f"{place}/data", "-p", str(port), "-k", place, "-h", "127.0.0.1"]
        with _running(server, signal.SIGINT, place):
            ready = [str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
            _wait(lambda: subprocess.run(ready, check=False).returncode == 0)
            yield f"host=127.0.0.1 port={port} user=bench dbname=postgres"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _postgres_binaries() -> Path:
    found = shutil.which("pg_isready")
    places = ([Path(found).resolve().parent] if found else []) + sorted(
        (path.parent for path in _DEBIAN.glob("*/bin/postgres")), reverse=True
    )
    for place in places:
        if all((place / name).exists() for name in ("initdb", "postgres", "pg_isready")):
            return place
    raise Missing("there is no postgres")


@contextmanager
def _running(command: list[str], end: signal.Signals, place: str | None = None) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place)
    try:
        yield
    finally:
        process.send_signal(end)
        process.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not ready():
        if time.monotonic() > deadline:
            raise Missing("the server does not answer")
        time.sleep(0.05)

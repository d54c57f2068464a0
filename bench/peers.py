"""The other DynamoDB emulators: how to get them, start them and stop them. They are kept in `.bench/`, out of the project's environment."""

import os
import platform
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).parents[1] / ".bench"
PYTHON = HOME / "venv/bin/python"
MODULES = HOME / "node_modules"
#: Where platforms and architectures are named as npm has them.
_MACHINE = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), platform.machine())
_DYNOXIDE = f"@dynoxide/{sys.platform}-{_MACHINE}"


@dataclass(frozen=True)
class Peer:
    """A server that speaks DynamoDB's protocol."""

    name: str
    command: Callable[[int], list[str]]
    environment: Callable[[int], dict[str, str]] = lambda port: {}
    present: Callable[[], bool] = lambda: True


PEERS = [
    Peer(
        "dynoxide (Rust)",
        lambda port: [str(MODULES / _DYNOXIDE / "dynoxide"), "--port", str(port)],
        present=lambda: (MODULES / _DYNOXIDE / "dynoxide").exists(),
    ),
    Peer(
        "dynalite (Node)",
        lambda port: [str(MODULES / ".bin/dynalite"), "--port", str(port), "--createTableMs", "0", "--deleteTableMs", "0"],
        present=lambda: (MODULES / ".bin/dynalite").exists(),
    ),
    Peer(
        "ministack (Python)",
        lambda port: [str(PYTHON), "-m", "ministack"],
        lambda port: {"GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1", "SERVICES": "dynamodb"},
        present=lambda: PYTHON.exists(),
    ),
    Peer("moto server (Python)", lambda port: [str(PYTHON.parent / "moto_server"), "-p", str(port)], present=lambda: PYTHON.exists()),
]


def ours(durability: str, path: str = ":memory:", options: Sequence[str] = ()) -> Peer:
    """Our own endpoint."""
    command = [sys.executable, "-m", "gateleg", "engine", "serve", "--path", path, "--durability", durability, *options]
    return Peer(f"gateleg ({durability})", lambda port: [*command, "--port", str(port)])


def install() -> list[Peer]:
    """Fetch the peers where their registries can be reached; those that are there."""
    HOME.mkdir(exist_ok=True)
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
        _quietly([str(PYTHON), "-m", "pip", "install", "--quiet", "moto[server,dynamodb]", "ministack", "boto3"])
    if shutil.which("npm") and not MODULES.exists():
        _quietly(["npm", "install", "--prefix", str(HOME), "--no-save", "--silent", "dynalite", _DYNOXIDE])
        binary = MODULES / _DYNOXIDE / "dynoxide"
        if binary.exists():
            binary.chmod(0o755)
    for peer in PEERS:
        if not peer.present():
            print(f"{peer.name} could not be installed and is left out", file=sys.stderr)
    return [peer for peer in PEERS if peer.present()]


def _quietly(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1:] or done.returncode, file=sys.stderr)


@contextmanager
def running(peer: Peer) -> Iterator[str]:
    """Start a server on a free port, wait until it answers, give its URL, stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        peer.command(port), env={**os.environ, **peer.environment(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server does not answer")

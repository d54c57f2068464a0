"""The first page is built ahead, in a process of its own: there is one console in a process."""

import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import asyncio, logging, sys
from pathlib import Path
from nicegui import Client
from gateleg.web.app import create_app
from gateleg.web.console.mounting import warm
from gateleg.host.host import Host
from gateleg.web.server import listen, serve
from gateleg.host.settings import Settings

logging.basicConfig(level=logging.DEBUG, format="%(message)s", stream=sys.stdout)
settings = Settings(store="embedded::memory:", objects=f"dir:{sys.argv[1]}", data=Path(sys.argv[1]), port=0)

async def main():
    async with Host.open(settings) as host:
        if len(sys.argv) > 2:
            await host.keys.create("ann", __import__("gateleg.host").host.Role.ADMIN)
        stop = asyncio.Event()
        await serve(host, create_app(host), listen(settings), stop=stop, ready=stop.set, first=warm)
        print("pages open:", len(Client.instances))

asyncio.run(main())
"""


def run(folder: Path, *options: str) -> str:
    done = subprocess.run([sys.executable, "-c", _SCRIPT, str(folder), *options], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout


def test_the_overview_is_built_ahead_and_left_again(tmp_path: Path) -> None:
    told = run(tmp_path)
    assert "built the overview in advance, with status 200" in told
    assert "pages open: 0" in told


def test_it_is_built_ahead_also_where_visitors_need_a_key(tmp_path: Path) -> None:
    assert "built the overview in advance, with status 200" in run(tmp_path, "keys")

"""A host of its own process for browser tests: `python -m tests.web.console.serving FOLDER [--keys] [--application MODULE:NAME]...`.

It prints one line of JSON when it is ready: its address, the tokens of its keys, and the one of the host
itself, which is good while it has no keys.
"""

import argparse
import asyncio
import importlib
import json
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn

from gateleg.host import Application, Role
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs import Worker
from gateleg.store import AsyncStore
from gateleg.web.app import create_app

QUEUES = {"default": 1, "media": 1}


def loaded(place: str) -> Application:
    module, _, name = place.partition(":")
    application = getattr(importlib.import_module(module), name)
    assert isinstance(application, Application)
    return application


def slow_down(store: AsyncStore, gate: Path) -> None:
    """Have everything that is read of the tables wait while there is a file; who calls is recognised all the same."""
    call = store.transport.call

    async def gated(operation: str, request: dict[str, Any], **options: Any) -> dict[str, Any]:
        while gate.exists() and operation in ("Query", "Scan", "DescribeTable") and request.get("TableName") != "GatelegAccess":
            await asyncio.sleep(0.02)
        return await call(operation, request, **options)

    store.transport.call = gated  # type: ignore[method-assign]


async def serve(
    folder: Path,
    applications: list[Application],
    objects: tuple[str | None, str | None],
    *,
    keys: bool,
    work: bool,
    environ: dict[str, str],
) -> None:
    place, endpoint = objects
    flags = {"store": f"embedded:{folder}", "objects": place or f"dir:{folder}/objects", "objects_endpoint": endpoint, "data": folder}
    settings = load_settings(flags=flags, environ=environ)
    async with Host.open(settings, applications) as host:
        slow_down(host.store, folder / "slow")
        tokens = {role.word: (await host.keys.create(role.word, role)).token for role in Role} if keys else {}
        queues = QUEUES | {handler.queue: 1 for handler in host.queue.context.jobs}
        worker = Worker(host.queue, queues=queues, concurrency=8, worker_id="tests:1", idle=(0.01, 0.2), drain_seconds=0.1)
        working = asyncio.ensure_future(worker.run()) if work else None
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(host), log_level="warning", lifespan="on"))
        serving = asyncio.ensure_future(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}", "tokens": tokens, "token": host.local.token}), flush=True)
        # The test that started this process ends it by closing its input.
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        server.should_exit = True
        await serving
        if working is not None:
            worker.stop()
            await working


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keys", action="store_true")
    parser.add_argument("--idle", action="store_true", help="without a worker")
    parser.add_argument("--application", action="append", default=[])
    parser.add_argument("--objects")
    parser.add_argument("--objects-endpoint")
    parser.add_argument("--set", action="append", default=[], help="a setting: GATELEG_NAME=value")
    options = parser.parse_args()
    applications = [loaded(place) for place in options.application]
    asyncio.run(
        serve(
            options.folder,
            applications,
            (options.objects, options.objects_endpoint),
            keys=options.keys,
            work=not options.idle,
            environ=dict(one.split("=", 1) for one in options.set),
        )
    )


if __name__ == "__main__":
    main()

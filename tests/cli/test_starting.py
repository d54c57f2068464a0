"""A host and a worker that are started together on a store that nobody has used yet."""

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from gateleg.cli.demo.application import application
from gateleg.web.host import Host
from gateleg.web.settings import Settings

#: Where one of two processes used to fail, it did so in a third of all rounds.
ROUNDS = 10


def starter(folder: Path, together: Barrier, told: Connection) -> None:
    """Open a host on one fresh folder after another, each at the same moment as another process, and load the demonstration."""
    secrets, failures = [], []
    for number in range(ROUNDS):
        place = folder / str(number)
        settings = Settings(store=f"embedded:{place}", objects=f"dir:{place}/objects", data=place)
        together.wait(60)
        try:
            secrets.append(asyncio.run(started(settings)))
        except Exception as error:
            failures.append(f"{number}: {error!r}")
    told.send((secrets, failures))


async def started(settings: Settings) -> str:
    async with Host.open(settings, [application]) as host:
        assert application.demo is not None
        await application.demo(host.resources["demo"])
        return host.secret.sign("test", "a text")


def test_processes_that_start_together_on_fresh_stores_all_start_and_agree(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    pipes = [context.Pipe(duplex=False) for _ in range(2)]
    processes = [context.Process(target=starter, args=(tmp_path, together, sender)) for _, sender in pipes]
    for process in processes:
        process.start()
    told = [receiver.recv() if receiver.poll(120) else ([], ["nothing was heard of it"]) for receiver, _ in pipes]
    for process in processes:
        process.join(60)
    assert [failures for _, failures in told] == [[], []]
    assert told[0][0] == told[1][0]

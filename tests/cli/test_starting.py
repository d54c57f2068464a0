"""Starting: a host and a worker together on a store that nobody has used yet, and commands on tables with another key."""

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app
from gateleg.cli.demo.application import application
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs.tables import TABLES
from gateleg.model import Table
from gateleg.store import Store

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


QUEUE = TABLES[0].name
AGENTS = ("--app", "gateleg.apps.agents.application:application")


@pytest.mark.parametrize(
    ("command", "table"),
    [
        (("serve", "--port", "0"), "aace-runs"),
        (("up", "--no-browser", "--port", "0"), "aace-runs"),
        (("serve", "--port", "0"), "GatelegAccess"),
        (("worker",), "aace-messages"),
        (("worker", *AGENTS), "aace-messages"),
        (("worker", "--app", "tests.jobs.chores:jobs"), QUEUE),
        (("jobs", "submit", "echo", '{"words": []}', "--app", "tests.jobs.chores:jobs"), QUEUE),
        (("keys", "create", "ann"), "GatelegAccess"),
        (("secrets", "set", "name"), "GatelegSecrets"),
        (("agents", "list"), "aace-threads"),
        (("rag", "add", "gateleg.toml"), "GatelegWebhooks"),
        (("tables", "check"), "aace-threads"),
        (("tables", "import", "aace-threads"), "aace-threads"),
    ],
)
def test_a_command_refuses_a_table_with_another_key_and_writes_nothing(
    command: tuple[str, ...], table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateleg.toml").touch()
    place = f"embedded:{tmp_path}/data"
    with Store.connect(place) as store:
        store.create_tables(Table(table, hash="thread_uuid", range="run_uuid"))
        store.transport.call("PutItem", {"TableName": table, "Item": {"thread_uuid": {"S": "t"}, "run_uuid": {"S": "r"}}})
    result = CliRunner().invoke(app, [*command, "--store", place], input="secret\n")
    assert result.exit_code == 1, result.output
    assert f"The table {table} has the key (thread_uuid S, run_uuid S), but (" in result.output
    with Store.connect(place) as store:
        assert store.transport.call("ListTables", {})["TableNames"] == [table]
        assert store.transport.call("Scan", {"TableName": table})["Count"] == 1

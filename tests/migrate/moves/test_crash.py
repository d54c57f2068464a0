"""Four clients read and write while a table moves to its end and back, and all are killed at random moments, in every phase."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from gateleg.migrate import Phase
from gateleg.migrate.moves.declaration import PHASES
from gateleg.migrate.moves.steps import verify
from gateleg.migrate.moves.tables import migrations_table
from gateleg.store import Store
from tests.migrate.moves.crash_client import SHARED, Journal
from tests.migrate.moves.layouts import NewAgent, OldAgent, agents_move, new_agents, old_agents, raw, to_new

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.crash
CLIENTS = ("c0", "c1", "c2", "c3")
BYSTANDERS = 200


class Clients:
    """The processes of the clients. One that is killed is started again; one that ends by itself has seen a wrong item."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance, self.kills = folder, chance, 0
        self.running = {name: self._start(name) for name in CLIENTS}

    def _start(self, name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.migrate.moves.crash_client", str(self.folder), name, str(self.chance.randrange(10**6))]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def check(self) -> None:
        for process in self.running.values():
            if process.poll() is not None:
                assert process.stderr is not None
                pytest.fail(f"a client ended by itself: {process.stderr.read()[-3000:]}")

    def kill_one(self) -> None:
        self.check()
        name = self.chance.choice(CLIENTS)
        self.running[name].kill()
        _closed(self.running[name])
        self.running[name] = self._start(name)
        self.kills += 1

    def stop(self) -> None:
        (self.folder / "stop").touch()
        for process in self.running.values():
            assert process.wait(60) == 0, process.stderr.read()[-3000:] if process.stderr else ""
            _closed(process)

    def kill_all(self) -> None:
        for process in self.running.values():
            process.kill()
            _closed(process)


def _closed(process: subprocess.Popen[str]) -> None:
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def go(folder: Path, phase: Phase, way: str, clients: Clients) -> int:
    """Let an operator go to a phase; the first one is killed on the way, and a client with it. The answer is how many were killed."""
    killed = 0
    while True:
        command = [sys.executable, "-m", "tests.migrate.moves.crash_operator", str(folder), str(phase), way]
        operator = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        # Most of the time goes into starting Python; the rest is anywhere in the work.
        until = time.monotonic() + 0.4 + clients.chance.random() * 1.2 if killed < 1 else None
        while operator.poll() is None and (until is None or time.monotonic() < until):
            try:
                operator.wait(0.02)
            except subprocess.TimeoutExpired:
                clients.check()
        if operator.poll() is None:
            operator.kill()
            _closed(operator)
            killed += 1
            clients.kill_one()
            continue
        assert operator.stderr is not None
        text = operator.stderr.read()
        _closed(operator)
        assert operator.returncode == 0, text[-3000:]
        return killed


def check_all(store: Store, folder: Path) -> int:
    """Every acknowledged write is there, once; the answer is how many there were."""
    writes = counted = maybe = 0
    expected: dict[str, set[int | None]] = {}
    for name in CLIENTS:
        journal = Journal(folder / f"{name}.journal")
        writes, counted, maybe = writes + journal.writes, counted + journal.counted, maybe + journal.maybe
        for uuid in journal.known.keys() | journal.doubtful.keys():
            expected[uuid] = {journal.known.get(uuid)} | ({journal.doubtful[uuid]} if uuid in journal.doubtful else set())
    found = {agent.agent_uuid: agent.uses for agent in store.export(OldAgent, consistent=True)}
    assert {uuid: found.get(uuid) for uuid in expected if found.get(uuid) not in expected[uuid]} == {}
    strays = {uuid for uuid in found if not uuid.startswith(("shared", "bystander"))} - expected.keys()
    assert strays == set()
    assert sum(uuid.startswith("bystander") for uuid in found) == BYSTANDERS
    total = sum(value for uuid, value in found.items() if uuid.startswith("shared"))
    assert counted <= total <= counted + maybe
    return writes


def test_nothing_is_lost_doubled_or_wrong_in_any_phase(tmp_path: Path) -> None:
    chance = random.Random()
    store = Store.connect(f"embedded:{tmp_path}/store?durability=relaxed")
    store.ensure_tables(old_agents, new_agents, migrations_table)
    bystanders = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"bystander{n:04d}", uses=n, version=1) for n in range(BYSTANDERS)]
    shared = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"shared{n}", version=1) for n in range(SHARED)]
    store.batch_write([*bystanders, *shared], check_version=False)
    untouched = [item for item in raw(store, old_agents) if item["agent_uuid"]["S"].startswith("bystander")]
    clients, operators = Clients(tmp_path, chance), 0
    try:
        for phase in PHASES[1:]:
            operators += go(tmp_path, phase, "forward", clients)
            if phase is Phase.CUT_OVER:
                # Beside the writers: pairs that are being written are looked at again.
                assert store.drive(verify(agents_move, agents_move.stages[0], store.setup)).wrong == 0
        assert raw(store, old_agents) == []
        for phase in reversed(PHASES[:-1]):
            operators += go(tmp_path, phase, "back", clients)
            if phase is Phase.DUAL_READ:
                assert store.drive(verify(agents_move, agents_move.stages[0], store.setup)).wrong == 0
        clients.stop()
    finally:
        clients.kill_all()
    writes = check_all(store, tmp_path)
    assert raw(store, new_agents) == []
    assert [item for item in raw(store, old_agents) if item["agent_uuid"]["S"].startswith("bystander")] == untouched
    # And once more to the end, in peace.
    assert go(tmp_path, Phase.CUT_OVER, "forward", clients_at_rest(clients)) >= 0
    old = {agent.agent_uuid: to_new(agent) for agent in store.export(OldAgent, consistent=True)}
    assert {agent.agent_uuid: agent for agent in store.export(NewAgent, consistent=True)} == old
    print(f"{writes} writes; {clients.kills} clients and {operators} operators were killed")
    store.close()


def clients_at_rest(clients: Clients) -> Clients:
    """Clients that are not there any more, so that nobody is killed."""
    clients.running = {}
    clients.kill_one = lambda: None  # type: ignore[method-assign]
    return clients

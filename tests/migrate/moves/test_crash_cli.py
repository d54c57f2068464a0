"""`gateleg migrate` is killed (-9) within the work of every phase, beside four clients; the same command, typed again, goes on."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gateleg.migrate import Phase, migrations_table
from gateleg.migrate.moves import passes
from gateleg.migrate.moves.control import read_state
from gateleg.migrate.moves.passes import TablePass, progress_of
from gateleg.store import Store
from tests.migrate.moves import test_crash as crash
from tests.migrate.moves.crash_client import SHARED
from tests.migrate.moves.layouts import OldAgent, agents_move, new_agents, old_agents, raw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.crash
(STAGE,) = agents_move.stages
#: so slow that a pass over some hundred items is caught in the middle
SLOW = ("--segments", "2", "--read-units", "20")


class Typist:
    """Types commands, kills them in the middle, and types them again."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder, self._store = folder, store
        (folder / "gateleg.toml").write_text('applications = ["tests.migrate.sample_application:application"]\n')
        self.kills: list[str] = []

    def type(self, *arguments: str) -> subprocess.Popen[str]:
        place = f"embedded:{self._folder}/store?durability=relaxed"
        command = [sys.executable, "-m", "tests.migrate.moves.cli_operator", *arguments]
        command += ["--store", place, "--config", str(self._folder / "gateleg.toml")]
        return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    def killed(self, name: str, under_way: Callable[[], bool], *arguments: str) -> None:
        """Kill a command as soon as something is under way; then type it until it is done."""
        process = self.type(*arguments)
        while process.poll() is None and not under_way():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.005)
        if process.poll() is None:
            process.kill()
            self.kills.append(name)
        crash._closed(process)
        self.done(*arguments)

    def done(self, *arguments: str) -> None:
        while True:
            process = self.type(*arguments)
            _, told = process.communicate()
            if process.returncode == 0:
                return
            # That of the one who was killed, for a moment yet.
            assert "[lock-held]" in told, told[-3000:]

    def passing(self, task: Callable[..., TablePass]) -> Callable[[], bool]:
        """Whether a pass has begun and is not done."""

        def under_way() -> bool:
            progress = progress_of(self._store.drive(task(agents_move, STAGE).checkpoints(self._store.setup)))
            return bool(progress["seen"]) and not progress["done"]

        return under_way

    def entering(self, phase: Phase) -> Callable[[], bool]:
        """Whether a phase has been written, which clients may not have noticed yet."""
        return lambda: self._store.drive(read_state(agents_move, STAGE, self._store.setup)).phase is phase


def test_a_command_that_is_killed_in_any_phase_is_typed_again_and_goes_on(tmp_path: Path) -> None:
    store = Store.connect(f"embedded:{tmp_path}/store?durability=relaxed")
    store.ensure_tables(old_agents, new_agents, migrations_table)
    bystanders = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"bystander{n:04d}", uses=n, version=1) for n in range(crash.BYSTANDERS)]
    shared = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"shared{n}", version=1) for n in range(SHARED)]
    store.batch_write([*bystanders, *shared], check_version=False)
    untouched = [item for item in raw(store, old_agents) if item["agent_uuid"]["S"].startswith("bystander")]
    typist, clients = Typist(tmp_path, store), crash.Clients(tmp_path, random.Random())
    try:
        for name, sign, phase in (
            ("backfill", typist.passing(passes.backfill), "backfill"),
            ("verify, old items", typist.passing(passes.compare_old), "verify"),
            ("dual-read", typist.entering(Phase.DUAL_READ), "dual-read"),
        ):
            typist.killed(name, sign, "apply", "agency", "--phase", phase, *SLOW)
            clients.check()
        typist.killed("verify, new items", typist.passing(passes.compare_new), "verify", "agency", "1", *SLOW)
        typist.done("apply", "agency", "--phase", "cut-over", "--force")
        typist.killed("clean-up", typist.passing(passes.remove_old), "apply", "agency", "--phase", "clean-up", "--force", *SLOW)
        assert raw(store, old_agents) == []
        clients.check()
        typist.killed("restore", typist.passing(passes.restore), "rollback", "agency", "1", "--phase", "cut-over")
        typist.done("verify", "agency", "1")
        typist.killed("rollback", typist.entering(Phase.OFF), "rollback", "agency", "1")
        clients.stop()
    finally:
        clients.kill_all()
    writes = crash.check_all(store, tmp_path)
    assert raw(store, new_agents) == []
    assert [item for item in raw(store, old_agents) if item["agent_uuid"]["S"].startswith("bystander")] == untouched
    print(f"{writes} writes; killed in {', '.join(typist.kills)}")
    assert {"backfill", "verify, old items", "verify, new items", "dual-read", "clean-up"} <= set(typist.kills)
    store.close()

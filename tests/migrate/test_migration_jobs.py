"""Migrations as jobs on the queue."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from gateleg.jobs import JobStatus, Queue, Submission
from gateleg.jobs.testing import TestWorker
from gateleg.migrate import Migration, Migrator, Moving, Phase
from gateleg.migrate.migration_jobs import MIGRATION_JOB, MigrationTask, migration_jobs
from gateleg.migrate.moves.control import read_state
from gateleg.store import Store
from tests.migrate.moves.layouts import OldAgent, agents_move, new_agents, old_agents, opened, raw

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from gateleg.jobs import Job

migration = Migration(1, "agents-by-tenant", moves=(agents_move,))


@pytest.fixture
def store() -> Store:
    store = opened()
    agents = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"{n:03d}") for n in range(250)]
    store.batch_write(agents, check_version=False)
    return store


def run(store: Store, task: MigrationTask, tell: Callable[..., Coroutine[Any, Any, Any]] | None = None) -> Job:
    """Submit a job and run it; the job as its only attempt left it."""
    queue = Queue(store, migration_jobs(lambda: nullcontext(store), {"shop": (migration,)}, tell))
    store.ensure_tables(*queue.tables.all)
    queue.submit(Submission(MIGRATION_JOB, task))
    return TestWorker(queue).run(limit=1)[0]


def test_a_job_applies_verifies_and_undoes_a_migration_and_tells_how_far_it_is(store: Store) -> None:
    job = run(store, MigrationTask(application="shop", segments=2))
    assert job.status is JobStatus.COMPLETED, job.attempts
    assert len(raw(store, new_agents)) == 250
    assert job.progress is not None
    assert "items seen" in str(job.progress)
    assert run(store, MigrationTask(application="shop", action="verify", number=1)).status is JobStatus.COMPLETED
    assert run(store, MigrationTask(application="shop", action="rollback", number=1)).status is JobStatus.COMPLETED
    assert (len(raw(store, old_agents)), raw(store, new_agents)) == (250, [])


def test_a_job_that_cannot_go_on_says_why(store: Store) -> None:
    one = Migrator(store, "shop", [migration], by="ann")
    one.apply(until=Phase.DUAL_WRITE)
    one.pause(1)
    job = run(store, MigrationTask(application="shop"))
    assert (job.status, "Resume it" in str(job.attempts[-1].error)) == (JobStatus.FAILED, True)
    job = run(store, MigrationTask(application="nobody"))
    assert "nobody has no migrations here" in str(job.attempts[-1].error)


def test_webhooks_are_told_how_a_migration_ends_also_when_clients_fare_badly(store: Store) -> None:
    told: list[tuple[str, str, dict[str, Any]]] = []

    async def tell(application: str, event: str, data: dict[str, Any]) -> None:
        told.append((application, event, data))

    moving = Moving([agents_move], refresh=0.0)
    client = store.moving(moving)

    def sleep(seconds: float) -> None:
        """Half of what clients ask for fails while they are watched."""
        store.setup.clock.sleep(seconds)  # type: ignore[attr-defined]
        for number in range(30):
            moving.views.note_request(0.01, failed=number % 2 == 0)
        client.get(OldAgent, endpoint_id="acme-prod", agent_uuid="001")

    watched = Store(store.transport, clock=store.setup.clock, ticks=store.setup.ticks, sleep=sleep, random=store.setup.random)
    job = run(watched, MigrationTask(application="shop", phase=Phase.CUT_OVER, soak=5), tell)
    assert job.status is JobStatus.FAILED
    ((application, event, data),) = told
    assert (application, event, data["code"]) == ("shop", "migration.stopped", "rollout-halted")
    assert "requests of clients failed" in data["message"]
    assert store.drive(read_state(agents_move, agents_move.stages[0], store.setup)).phase is Phase.DUAL_WRITE
    # Nothing was copied yet, and it goes on once clients are well.
    assert raw(store, new_agents) == []
    job = run(store, MigrationTask(application="shop", phase=Phase.DUAL_READ), tell)
    assert job.status is JobStatus.COMPLETED, job.attempts
    assert [event for _, event, _ in told] == ["migration.stopped", "migration.done"]
    assert told[-1][2]["result"] == {"applied": ["0001 agents-by-tenant"]}

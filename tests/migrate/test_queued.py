"""Migrations as jobs on the queue."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from gateleg.jobs import JobStatus, Queue, Submission
from gateleg.jobs.testing import TestWorker
from gateleg.migrate import Migration, Migrator, Phase
from gateleg.migrate.queued import MIGRATION_JOB, MigrationTask, migration_jobs
from tests.migrate.moves.layouts import OldAgent, agents_move, new_agents, old_agents, opened, raw

if TYPE_CHECKING:
    from gateleg.jobs import Job
    from gateleg.store import Store

migration = Migration(1, "agents-by-tenant", moves=(agents_move,))


@pytest.fixture
def store() -> Store:
    store = opened()
    agents = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"{n:03d}") for n in range(250)]
    store.batch_write(agents, check_version=False)
    return store


def run(store: Store, task: MigrationTask) -> Job:
    """Submit a job and run it; the job as its only attempt left it."""
    queue = Queue(store, migration_jobs(lambda: nullcontext(store), {"shop": (migration,)}))
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

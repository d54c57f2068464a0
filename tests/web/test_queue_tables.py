"""The queue tables that an application brings, as a host, its commands and other programs on the same store see them."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app as commands
from gateleg.host.application import Application, BadApplication
from gateleg.host.doctor import examine
from gateleg.host.host import Host
from gateleg.host.queues import further_tables
from gateleg.host.resources import Resources
from gateleg.host.settings import Settings
from gateleg.jobs import AsyncQueue, JobContext, Jobs, JobStatus, Queue, Submission, TableNames, Worker
from gateleg.store import AsyncStore, Store

BY_SHOP = TableNames("ShopJobQueue", "ShopJobLedger", "ShopJobArchive", "order", "OrderIndex")


def shop_tables() -> TableNames:
    return BY_SHOP


def shop_jobs(resources: Resources[Any]) -> Jobs:
    """Handlers that need resources, as those that are created again in a process do."""
    jobs = Jobs()

    @jobs.handler("ship", runs="process")
    async def ship(job: JobContext, config: dict[str, Any]) -> dict[str, Any]:
        mine = await resources.queue.get(job.job_id)
        submitted = await resources.queue.submit(Submission("bill", subject=mine.subject))
        again = await resources.queue.submit(Submission("pack", subject=mine.subject))
        return {"tables": [str(submitted.job.job_id), str(again.job.job_id)]}

    @jobs.handler("pack")
    async def pack(job: JobContext, config: dict[str, Any]) -> None: ...

    @jobs.handler("bill")
    async def bill(job: JobContext, config: dict[str, Any]) -> None: ...

    return jobs


def accounts_jobs(resources: Resources[Any]) -> Jobs:
    jobs = Jobs()

    @jobs.handler("audit")
    async def audit(job: JobContext, config: dict[str, Any]) -> None: ...

    return jobs


SHOP = Application("shop", "Shop", "store", jobs=shop_jobs, queue_tables=shop_tables)
ACCOUNTS = Application("accounts", "Accounts", "paid", jobs=accounts_jobs)


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"embedded:{tmp_path}/data"


@asynccontextmanager
async def host(tmp_path: Path, *applications: Application) -> AsyncIterator[Host]:
    settings = Settings(store=f"embedded:{tmp_path}/data", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with Host.open(settings, applications) as host:
        yield host


async def finished(queue: AsyncQueue, ids: list[Any]) -> list[JobStatus]:
    """The statuses of jobs once a worker has run them all."""
    worker = Worker(queue, concurrency=2, idle=(0.001, 0.05))
    running = asyncio.ensure_future(worker.run())
    async with asyncio.timeout(120):
        while any(not job.finished for job in await queue.read_jobs(ids)):
            await asyncio.sleep(0.01)
    worker.stop()
    await running
    return [job.status for job in await queue.read_jobs(ids)]


async def earlier_release(place: str) -> dict[str, str]:
    """What a host of an earlier release leaves: jobs, schedules and states of all its applications in one set of tables."""
    jobs = Jobs()
    for name in ("ship", "pack", "bill", "audit"):
        jobs.handler(name)(_nothing)
    async with AsyncStore.connect(place) as store:
        queue = AsyncQueue(store, jobs, tables=BY_SHOP)
        await queue.ensure_tables()
        await queue.schedule("nightly", Submission("audit", subject="books"), every=86_400)
        await queue.pause("default", by="ann")
        submitted = await queue.submit_many([Submission(name, subject=name, idempotency_key=name) for name in ("pack", "audit")])
        return {one.job.job_type: str(one.job.job_id) for one in submitted}


async def _nothing(job: JobContext, config: dict[str, Any]) -> None: ...


async def test_jobs_schedules_and_states_of_an_earlier_release_go_on(tmp_path: Path, place: str) -> None:
    earlier = await earlier_release(place)
    async with host(tmp_path, SHOP, ACCOUNTS) as opened:
        queue = opened.queue
        assert {str(job.job_id) for job in await queue.jobs_page()} == set(earlier.values())
        assert [one.name for one in await queue.schedules()] == ["nightly"]
        assert (await queue.states())["default"].mode == "paused"
        again = await queue.submit(Submission("audit", idempotency_key="audit"))
        assert (str(again.job.job_id), again.created) == (earlier["audit"], False)
        new = await queue.submit(Submission("audit"))
        await queue.resume("default")
        ids = [*(job.job_id for job in await queue.jobs_page()), new.job.job_id]
        assert set(await finished(queue, ids)) == {JobStatus.COMPLETED}
        assert [diagnosis.result.status for diagnosis in await examine(opened) if diagnosis.name == "job tables"] == ["ok"]


async def test_jobs_of_an_application_that_is_not_there_are_told(tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture) -> None:
    await earlier_release(place)
    with caplog.at_level(logging.WARNING, "gateleg.jobs"):
        async with host(tmp_path, ACCOUNTS) as opened:
            (found,) = [diagnosis.result for diagnosis in await examine(opened) if diagnosis.name == "job tables"]
    assert "the store has jobs in ShopJobQueue" in caplog.text
    assert (found.status, "ShopJobQueue" in found.message, "Install the application" in found.fix) == ("failed", True, True)


async def test_a_handler_in_a_process_has_the_same_queue(tmp_path: Path) -> None:
    async with host(tmp_path, SHOP) as opened:
        job = (await opened.queue.submit(Submission("ship", subject="7"))).job
        await finished(opened.queue, [job.job_id])
        ended = await opened.queue.get(job.job_id)
        assert ended.job_results is not None
        assert ended.status == JobStatus.COMPLETED, ended.attempts
        made = await opened.queue.read_jobs([job.job_id for job in await opened.queue.jobs_page(subject="7")])
        assert {job.job_type for job in made} == {"ship", "bill", "pack"}
        alone = opened.queue.members[1]
        assert {type(job) for job in made} == {alone.tables.job}


async def test_two_hosts_a_command_and_a_program_agree(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gateleg.toml").write_text(
        f'store = "{place}"\napplications = ["tests.web.test_queue_tables:SHOP", "tests.web.test_queue_tables:ACCOUNTS"]\n'
    )

    def told(*arguments: str) -> Any:
        result = CliRunner().invoke(commands, ["jobs", *arguments, "--json"])
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return json.loads(result.stdout)

    async with host(tmp_path, SHOP, ACCOUNTS) as first, host(tmp_path, SHOP, ACCOUNTS) as second:
        own = {str((await first.queue.submit(Submission("audit"))).job.job_id)}
        brought = {str((await second.queue.submit(Submission("pack"))).job.job_id)}
        own.add((await asyncio.to_thread(told, "submit", "audit"))["job"]["job_id"])
        brought.add((await asyncio.to_thread(told, "submit", "pack"))["job"]["job_id"])
        with Store.connect(place) as store:
            program = Queue(store, Jobs())
            assert {str(job.job_id) for job in program.jobs_page()} == own
            assert {str(job.job_id) for job in Queue(store, Jobs(), further=[BY_SHOP]).jobs_page()} == own | brought
        for queue in (first.queue, second.queue):
            assert {str(job.job_id) for job in await queue.jobs_page()} == own | brought
        for options in ([], ["--app", "tests.web.test_queue_tables:SHOP"], ["--app", "tests.jobs.chores"]):
            listed = await asyncio.to_thread(told, "list", *options)
            assert {job["job_id"] for job in listed["items"]} == own | brought
        assert sum(queue["waiting"] for queue in await asyncio.to_thread(told, "stats")) == 4


@pytest.mark.parametrize(
    "names", [TableNames("Orders"), TableNames("JobQueue", "ShopJobLedger"), TableNames("shop-JobQueue")], ids=["other", "own", "prefix"]
)
def test_a_table_that_would_not_be_found_again_is_refused(names: TableNames) -> None:
    with pytest.raises(BadApplication, match="brings the queue table"):
        further_tables([Application("shop", "Shop", "store", queue_tables=lambda: names)])


def test_two_applications_may_bring_the_same_tables(tmp_path: Path) -> None:
    other = Application("other", "Other", "store", queue_tables=shop_tables)
    assert further_tables([SHOP, ACCOUNTS, other]) == (BY_SHOP,)
    with pytest.raises(BadApplication, match="different other names"):
        further_tables([SHOP, Application("other", "Other", "store", queue_tables=lambda: TableNames("ShopJobQueue"))])

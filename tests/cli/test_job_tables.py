"""Which of the queue's tables commands use: the same as a host on the same store, so that all of them show the same jobs."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click import Command
from typer.main import get_command
from typer.testing import CliRunner, Result

from gateleg.cli.commands import app
from gateleg.cli.jobs import app as job_commands
from gateleg.jobs import Queue, Submission, TableNames, TestWorker
from gateleg.store import Store
from tests.jobs.chores import jobs
from tests.jobs.layouts import BROUGHT, PLAIN

CHORES = "tests.jobs.chores"
#: An application that brings queue tables, whose job type is `ship`.
SHOP = """
from gateleg.jobs import JobContext, Jobs, TableNames
from gateleg.host import Application

jobs = Jobs()

@jobs.handler("ship")
async def ship(job: JobContext, config: dict) -> None: ...

def tables() -> TableNames:
    return TableNames("ShopJobQueue", "ShopJobLedger", "ShopJobArchive", "order", "OrderIndex")

application = Application("shop", "Shop", "store", jobs=jobs, queue_tables=tables)
"""
BY_SHOP = TableNames("ShopJobQueue", "ShopJobLedger", "ShopJobArchive", "order", "OrderIndex")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"embedded:{tmp_path / 'data'}"


def run(place: str, *arguments: str) -> Result:
    result = CliRunner().invoke(app, ["jobs", *arguments, "--store", place])
    assert result.exit_code == 0, result.output
    return result


def submitted_to(place: str, *tables: TableNames, subject: str | None = None) -> str:
    with Store.connect(place) as store:
        queue = Queue(store, jobs, tables=tables[0], further=tables[1:]) if tables else Queue(store, jobs)
        queue.ensure_tables()
        return str(queue.submit(Submission("echo", subject=subject)).job.job_id)


def test_commands_show_the_jobs_of_all_tables_together(place: str) -> None:
    names = {submitted_to(place), submitted_to(place, BROUGHT)}
    listed = run(place, "list")
    assert all(name[:8] in listed.stdout for name in names)
    assert listed.stderr == ""


def test_commands_find_a_job_in_whichever_table_it_is(place: str) -> None:
    submitted_to(place)
    name = submitted_to(place, BROUGHT, subject="19305")
    assert name[:8] in run(place, "list", "--subject", "19305").stdout
    assert name in run(place, "show", name[:8]).stdout
    run(place, "cancel", name)
    assert "CANCELLED" in run(place, "show", name).stdout
    run(place, "retry", name)
    assert name[:8] in run(place, "tree", name).stdout
    with Store.connect(place) as store:
        assert str(Queue(store, jobs, tables=BROUGHT).get(UUID(name)).status) == "PENDING"


def test_handlers_that_are_named_submit_where_a_queue_of_a_program_looks(place: str) -> None:
    name = run(place, "submit", "echo", "--app", CHORES).stdout.strip()
    with Store.connect(place) as store:
        assert [str(job.job_id) for job in Queue(store, jobs).jobs_page()] == [name]


def test_jobs_of_an_application_go_to_the_tables_that_it_brings(place: str) -> None:
    Path("shop_with_tables.py").write_text(SHOP)
    Path("gateleg.toml").write_text('applications = ["shop_with_tables:application"]\n')
    name = run(place, "submit", "ship").stdout.strip()
    with Store.connect(place) as store:
        assert [str(job.job_id) for job in Queue(store, jobs, tables=BY_SHOP).jobs_page()] == [name]
    for options in ([], ["--app", "shop_with_tables:application"]):
        assert name[:8] in run(place, "list", *options).stdout


def test_every_command_takes_the_application() -> None:
    """As `submit` and `worker` do, so that the same options show the jobs that were submitted with them."""
    group: Any = get_command(job_commands)
    named = {**group.commands, **group.commands["schedules"].commands}
    assert {name for name, command in named.items() if not hasattr(command, "commands") and not takes_app(command)} == set()


def takes_app(command: Command) -> bool:
    return any("--app" in option.opts for option in command.params)


def test_queues_schedules_and_the_archive_are_those_of_all_tables(place: str) -> None:
    submitted_to(place)
    with Store.connect(place) as store:
        earlier = Queue(store, jobs, tables=BROUGHT)
        earlier.ensure_tables()
        earlier.schedule("nightly", Submission("echo"), every=60)
        earlier.pause("default")
        echoed = earlier.submit(Submission("echo", {"words": ["heard"]}, subject="19305")).job.job_id
        (ended,) = TestWorker(earlier).run()
        assert "heard" in run(place, "logs", str(echoed)).stdout
        assert earlier.archive_job(ended)
    assert str(echoed)[:8] in run(place, "archive", "--subject", "19305").stdout
    assert str(echoed) in run(place, "show", str(echoed)).stdout
    assert "nightly" in run(place, "schedules", "list").stdout
    run(place, "schedules", "disable", "nightly")
    run(place, "schedules", "remove", "nightly")
    assert "paused" in run(place, "stats").stdout
    run(place, "resume", "default")
    with Store.connect(place) as store:
        assert Queue(store, jobs, tables=BROUGHT).schedules() == []
        for tables in (PLAIN, BROUGHT):
            assert Queue(store, jobs, tables=tables).states()["default"].mode == "running"


def test_jobs_that_no_installed_application_reads_are_told(place: str) -> None:
    submitted_to(place, BY_SHOP)
    told = run(place, "list").stderr if submitted_to(place) else ""
    assert "the store has jobs in ShopJobQueue, which this queue does not read" in told
    assert "Install the application that brings these tables" in " ".join(told.split())


def test_the_setting_of_an_earlier_release_is_refused_with_what_to_do(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gateleg.toml").write_text('job_tables = "delphi"\n')
    result = CliRunner().invoke(app, ["jobs", "list", "--store", place])
    assert result.exit_code == 2
    assert "'job_tables' is no longer a setting: remove it" in " ".join(result.stderr.split())
    Path("gateleg.toml").unlink()
    monkeypatch.setenv("GATELEG_JOB_TABLES", "plain")
    result = CliRunner().invoke(app, ["jobs", "list", "--store", place])
    assert (result.exit_code, "GATELEG_JOB_TABLES is no longer a setting" in " ".join(result.stderr.split())) == (2, True)

"""Which of the queue's tables commands use: what submits and what works agree, and an empty queue that may be the wrong one is told."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli.commands import app
from gateleg.jobs import Queue, Submission
from gateleg.jobs.tables import LAYOUTS
from gateleg.store import Store
from tests.jobs.chores import jobs

CHORES = "tests.jobs.chores"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return f"embedded:{tmp_path / 'data'}"


def run(place: str, *arguments: str) -> Result:
    result = CliRunner().invoke(app, ["jobs", *arguments, "--store", place])
    assert result.exit_code == 0, result.output
    return result


def submitted_to(place: str, layout: str) -> str:
    with Store.connect(place) as store:
        queue = Queue(store, jobs, tables=LAYOUTS["plain" if layout == "plain" else "delphi"])
        queue.ensure_tables()
        return str(queue.submit(Submission("echo")).job.job_id)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_commands_look_at_the_tables_that_are_there(place: str, layout: str) -> None:
    name = submitted_to(place, layout)
    found = run(place, "list")
    assert (name[:8] in found.stdout, found.stderr) == (True, "")


def test_handlers_that_are_named_submit_where_a_queue_of_a_program_looks(place: str) -> None:
    name = run(place, "submit", "echo", "--app", CHORES).stdout.strip()
    with Store.connect(place) as store:
        assert [str(job.job_id) for job in Queue(store, jobs).jobs_page()] == [name]


def test_a_flag_and_a_setting_name_the_tables(place: str) -> None:
    name = run(place, "submit", "echo", "--app", CHORES, "--job-tables", "delphi").stdout.strip()
    with Store.connect(place) as store:
        assert [str(job.job_id) for job in Queue(store, jobs, tables=LAYOUTS["delphi"]).jobs_page()] == [name]
    Path("gateleg.toml").write_text('job_tables = "delphi"\n')
    other = run(place, "submit", "echo", "--app", CHORES).stdout.strip()
    assert other[:8] in run(place, "list").stdout


def test_an_empty_queue_beside_one_with_jobs_is_told(place: str) -> None:
    submitted_to(place, "plain")
    with Store.connect(place) as store:
        Queue(store, jobs, tables=LAYOUTS["delphi"]).ensure_tables()
    told = run(place, "list").stderr
    assert "the store has jobs in JobQueue, but this queue uses DelphiJobQueue" in told
    assert "--job-tables plain" in told
    assert run(place, "list", "--job-tables", "plain").stderr == ""


def test_a_layout_that_there_is_not_is_refused(place: str) -> None:
    result = CliRunner().invoke(app, ["jobs", "list", "--store", place, "--job-tables", "own"])
    assert (result.exit_code, "job_tables" in result.stderr) == (2, True)

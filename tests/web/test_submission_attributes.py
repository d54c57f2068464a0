"""The attributes of a submission: every door takes the same ones under the same names, and answers name them alike."""

import inspect
from collections.abc import AsyncIterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from gateleg.apps.delphi.api import NewJob as NewConversationJob
from gateleg.cli.commands import app as commands
from gateleg.cli.jobs import schedules as schedule_commands
from gateleg.cli.jobs.actions import submit as submit_command
from gateleg.host.actions.jobs import NewJob
from gateleg.host.actions.queues import NewSchedule
from gateleg.host.application import Application
from gateleg.host.host import Host
from gateleg.host.job_views import JobDetail, ScheduleView
from gateleg.host.settings import Settings
from gateleg.jobs import Jobs, Queue, Submission, SubmitOptions
from gateleg.jobs.submission import ATTRIBUTES, EARLIER_NAMES, RUN_ATTRIBUTES, JobAttributes, RunAttributes
from gateleg.jobs.tables import Schedule
from gateleg.store import Store
from gateleg.web.app import create_app
from gateleg.web.console.jobs.submit import JOB_OPTIONS, SCHEDULE_OPTIONS

#: What a request says relatively, an answer says absolutely.
RELATIVE = {"delay": "run_at", "start_within": "start_by"}
#: What only Python and the host itself set.
OF_THE_SUBMITTER = {"created_by", "tenant"}
LATER = datetime(2099, 1, 2, 3, 4, 5, tzinfo=UTC)
#: A value of each attribute that is not its default.
VALUES: dict[str, Any] = {
    "queue": "night",
    "priority": 77,
    "subject": "19305",
    "max_retries": 9,
    "timeout_seconds": 123,
    "start_within": 3600.0,
    "concurrency_key": "k",
    "concurrency_limit": 3,
    "tags": ["a", "b"],
    "job_id": uuid4(),
    "run_at": LATER,
    "delay": 60.0,
    "start_by": LATER + timedelta(days=1),
    "dependencies": [],
    "parent_job_id": None,
    "stage": "first",
    "idempotency_key": "i",
    "unique_key": "u",
}
#: Of two attributes that say the same, one is submitted.
SUBMITTED = {name: value for name, value in VALUES.items() if name not in RELATIVE}


def options_of(command: Any) -> set[str]:
    return set(inspect.signature(command).parameters)


def names(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields)


def test_the_values_of_this_test_are_of_all_attributes() -> None:
    assert set(VALUES) == ATTRIBUTES == names(JobAttributes)
    assert names(RunAttributes) == RUN_ATTRIBUTES < ATTRIBUTES


def test_python_takes_them() -> None:
    assert {field.name for field in fields(Submission)} == ATTRIBUTES | OF_THE_SUBMITTER | {"job_type", "config"}
    assert set(SubmitOptions.__annotations__) == ATTRIBUTES | OF_THE_SUBMITTER


@pytest.mark.parametrize("model", [NewJob, NewConversationJob])
def test_requests_take_them(model: type[BaseModel]) -> None:
    assert names(model) == ATTRIBUTES | {"job_type", "config"}
    assert set(model.model_json_schema()["properties"]) == names(model)


def test_schedules_take_those_of_runs() -> None:
    times = {"cron", "every", "timezone", "enabled", "max_delay"}
    assert names(NewSchedule) == RUN_ATTRIBUTES | times | {"name", "job_type", "config"}
    assert set(Schedule.model_fields) >= RUN_ATTRIBUTES
    assert names(ScheduleView) >= names(NewSchedule)


def test_commands_have_an_option_for_each() -> None:
    assert options_of(submit_command) >= ATTRIBUTES
    assert options_of(schedule_commands.add) >= RUN_ATTRIBUTES
    told = CliRunner().invoke(commands, ["jobs", "submit", "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
    for name in ATTRIBUTES:
        assert f"--{name.replace('_', '-')}" in told


def test_forms_have_a_field_for_each() -> None:
    assert {option.name for option in JOB_OPTIONS} == ATTRIBUTES
    assert {option.name for option in SCHEDULE_OPTIONS} == RUN_ATTRIBUTES


def test_answers_name_them_alike() -> None:
    assert names(JobDetail) >= ATTRIBUTES - RELATIVE.keys() | {"config"}


def test_earlier_names_are_accepted_in_python() -> None:
    parent = uuid4()
    submission = Submission("a", timeout=5, depends_on=[parent], parent=parent)  # type: ignore[call-arg]
    assert (submission.timeout_seconds, submission.dependencies, submission.parent_job_id) == (5, [parent], parent)
    assert set(EARLIER_NAMES.values()) <= ATTRIBUTES


jobs = Jobs()


@jobs.handler("own")
async def own(job: Any, config: dict[str, Any]) -> None: ...


shop = Application(name="shop", title="Shop", icon="store", jobs=jobs)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(store=f"embedded:{tmp_path}/data", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with Host.open(settings, [shop]) as host:
        transport = httpx.ASGITransport(create_app(host, console=False))
        known = {"Authorization": f"Bearer {host.local.token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=known) as client:
            yield client


def as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    return JobAttributes(**values).model_dump(mode="json", include=set(values))


async def test_a_request_is_answered_with_its_own_names(client: httpx.AsyncClient) -> None:
    first = (await client.post("/api/jobs", json={"job_type": "own"})).json()["job"]["job_id"]
    sent = as_json(SUBMITTED) | {"dependencies": [first], "parent_job_id": first}
    answer = await client.post("/api/jobs", json={"job_type": "own", "config": {"a": 1}} | sent)
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert told["created"] is True
    got = (await client.get(f"/api/jobs/{told['job']['job_id']}")).json()
    for shown in (told["job"], got):
        assert {name: shown[name] for name in sent} == sent
        assert shown["config"] == {"a": 1}


@pytest.mark.parametrize(
    ("earlier", "name", "value"),
    [("timeout", "timeout_seconds", 5), ("job_stage", "stage", "s"), ("job_config", "config", {"a": 1})],
)
async def test_requests_with_earlier_names_are_answered_with_the_present_ones(
    client: httpx.AsyncClient, earlier: str, name: str, value: Any
) -> None:
    answer = await client.post("/api/jobs", json={"job_type": "own", earlier: value})
    assert (answer.status_code, answer.json()["job"][name]) == (201, value)
    assert earlier not in answer.json()["job"] or earlier == name


async def test_earlier_names_of_references_are_accepted(client: httpx.AsyncClient) -> None:
    first = (await client.post("/api/jobs", json={"job_type": "own"})).json()["job"]["job_id"]
    job = (await client.post("/api/jobs", json={"job_type": "own", "depends_on": [first], "parent": first})).json()["job"]
    assert (job["dependencies"], job["parent_job_id"]) == ([first], first)


async def test_relative_times_are_answered_as_times(client: httpx.AsyncClient) -> None:
    job = (await client.post("/api/jobs", json={"job_type": "own", "delay": 60, "start_within": 90})).json()["job"]
    begin, end = (datetime.fromisoformat(job[name]) for name in ("run_at", "start_by"))
    assert end - begin == timedelta(seconds=30)
    refused = await client.post("/api/jobs", json={"job_type": "own", "start_by": LATER.isoformat(), "start_within": 90})
    assert (refused.status_code, "both given" in refused.text) == (422, True)


async def test_a_schedule_gives_its_attributes_to_each_run(client: httpx.AsyncClient) -> None:
    sent = as_json({name: VALUES[name] for name in RUN_ATTRIBUTES})
    made = await client.put("/api/jobs/schedules/nightly", json={"job_type": "own", "every": 60} | sent)
    assert {name: made.json()[name] for name in sent} == sent
    run = (await client.post("/api/jobs/schedules/nightly/run")).json()["job"]
    kept = {name: value for name, value in sent.items() if name not in (*RELATIVE, "tags")}
    assert {name: run[name] for name in kept} == kept
    assert run["start_by"] is not None
    assert run["tags"] == ["a", "b", "schedule:nightly"]


def test_the_command_submits_what_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = f"embedded:{tmp_path / 'data'}"

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(commands, ["jobs", *arguments, "--app", "tests.jobs.chores", "--store", store])
        assert result.exit_code == 0, result.output
        return result.stdout.strip()

    first = run("submit", "echo")
    sent = as_json(SUBMITTED) | {"dependencies": [first], "parent_job_id": first}
    arguments = [
        text
        for name, value in sent.items()
        for one in (value if isinstance(value, list) else [value])
        for text in (f"--{name.replace('_', '-')}", str(one))
    ]
    assert run("submit", "echo", *arguments) == sent["job_id"]
    with Store.connect(store) as opened:
        job = Queue(opened, jobs).get(VALUES["job_id"])
        told = JobDetail.of(job).model_dump(mode="json")
        assert {name: told[name] for name in sent} == sent
        runs = {name: value for name, value in sent.items() if name in RUN_ATTRIBUTES}
        arguments = [
            text
            for name, value in runs.items()
            for one in (value if isinstance(value, list) else [value])
            for text in (f"--{name.replace('_', '-')}", str(one))
        ]
        run("schedules", "add", "nightly", "echo", "--every", "60", *arguments)
        schedule = Queue(opened, jobs).find_schedule("nightly")
        assert schedule is not None
        assert {name: getattr(schedule, name) for name in runs} == runs

"""Actions: the same role, effect, audit entry and words at the API, on the command line, in the console and for agents."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from gateleg.cli.action_commands import arguments_of
from gateleg.cli.commands import app as command_line
from gateleg.host.actions import ACTIONS, Action, ActionCall, perform
from gateleg.host.actions.jobs import CancelJob, JobsToCancel, cancel_job, cancel_jobs, retry_jobs
from gateleg.host.actions.queues import QueueTarget, ScheduleTarget, pause_queue, run_schedule
from gateleg.host.errors import NotAllowed
from gateleg.host.host import Host
from gateleg.host.principal import LOCAL, Principal, Role
from gateleg.host.settings import Settings
from gateleg.host.tables import AuditEntry
from gateleg.jobs import Job, JobMissing, JobStatus, Submission
from gateleg.store import Store, Throttled
from gateleg.web.app import create_app, flat_routes
from tests.web.conftest import client_of, run_all
from tests.web.sample import make_application


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data")


@pytest.fixture
async def host(settings: Settings) -> AsyncIterator[Host]:
    async with Host.open(settings, [make_application()]) as host:
        yield host


async def waiting(host: Host, number: int = 1, **options: Any) -> list[Job]:
    answers = [await host.queue.submit(Submission("add", {"numbers": [each]}, **options)) for each in range(number)]
    return [answer.job for answer in answers]


async def failed(host: Host, number: int = 1) -> list[Job]:
    jobs = [(await host.queue.submit(Submission("fail", {}))).job for _ in range(number)]
    await run_all(host)
    return [await host.queue.get(job.job_id) for job in jobs]


async def entries(host: Host) -> list[AuditEntry]:
    return list((await host.audit.page(limit=200)).items)


def told(entry: AuditEntry) -> tuple[str, str, dict[str, Any]]:
    return entry.action, entry.target, entry.details


# -- the doors: each performs an action with the same input, and says what it said


def sent_of(given: Any) -> dict[str, Any]:
    """What a caller sends: the values that are set, as JSON, secrets in the clear."""
    secret = {name: value.get_secret_value() for name in given.model_fields_set if isinstance(value := getattr(given, name), SecretStr)}
    return {**given.model_dump(mode="json", exclude_unset=True), **secret}


async def admin_token(host: Host) -> str:
    """A token of an admin: the host's own, while it has no key."""
    return (await host.keys.create("an admin", Role.ADMIN)).token if await host.keys.exist() else host.local.token


async def by_api(host: Host, settings: Settings, action: Action[Any, Any], given: Any) -> Any:
    method, path = action.http.split()
    sent = sent_of(given)
    for name in re.findall(r"\{(\w+)", path):
        path = re.sub(r"\{\w+(:path)?\}", quote(str(sent.pop(name)), safe=""), path, count=1)
    headers = {"If-Match": sent.pop(action.if_match)} if action.if_match in sent else {}
    query = {name: sent.pop(name) for name in action.query if name in sent}
    async with client_of(create_app(host, console=False), token=await admin_token(host)) as client:
        answer = await client.request(method, path, params=query, json=sent or None, headers=headers)
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


async def by_command(host: Host, settings: Settings, action: Action[Any, Any], given: Any) -> Any:
    sent = sent_of(given)
    words = [*action.command.split(), *([f"--{action.flag}"] if action.flag else [])]
    typed = "".join(sent.pop(name) for name in list(sent) if isinstance(getattr(given, name), SecretStr))
    words += [str(sent.pop(name)) for name in arguments_of(action) if name in sent]
    for name, value in sent.items():
        option = {"job_type": "--type", "groups": "--group", "items": "--key", "places": "--place"}.get(name, f"--{name.replace('_', '-')}")
        if value is True:
            words.append(option)
        else:
            for each in value if isinstance(value, list) else [value]:
                text = each["key"] if name == "items" else json.dumps(each) if isinstance(each, dict) else str(each)
                words += [option, text]
    options = ["--store", settings.store, "--objects", settings.objects, "--app", "tests.host.band:application"]
    environment = {"GATELEG_DATA": str(settings.data)}
    result = await asyncio.to_thread(CliRunner().invoke, command_line, [*words, *options], input=typed, env=environment)
    assert result.exit_code == 0, result.output
    return result.output.strip()


async def by_tool(host: Host, settings: Settings, action: Action[Any, Any], given: Any) -> Any:
    return (await action.tool_of(host).call(LOCAL, given)).model_dump(mode="json")


DOORS = [by_api, by_command, by_tool]
Door = Callable[[Host, Settings, Action[Any, Any], Any], Awaitable[Any]]


@pytest.mark.parametrize("door", DOORS)
async def test_a_job_is_cancelled_alike_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    (job,) = await waiting(host)
    await door(host, settings, cancel_job, CancelJob(job_id=job.job_id, reason="no need"))
    assert (await host.queue.get(job.job_id)).cancel_reason == "no need"
    assert [told(entry) for entry in await entries(host)] == [("job.cancel", str(job.job_id), {"reason": "no need"})]


@pytest.mark.parametrize("door", DOORS)
async def test_all_failed_jobs_of_a_type_are_retried_alike_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    jobs = await failed(host, 3)
    await waiting(host)
    await door(host, settings, retry_jobs, retry_jobs.input(job_type="fail"))
    assert {(await host.queue.get(job.job_id)).status for job in jobs} == {JobStatus.PENDING}
    assert sorted(told(entry) for entry in await entries(host)) == sorted(("job.retry", str(job.job_id), {}) for job in jobs)


async def test_the_result_is_said_in_the_same_words(host: Host, settings: Settings) -> None:
    jobs = await waiting(host, 2)
    said = await by_command(host, settings, cancel_job, CancelJob(job_id=jobs[0].job_id))
    result = await perform(cancel_job, ActionCall(host, LOCAL), CancelJob(job_id=jobs[1].job_id))
    assert said == cancel_job.done(result).replace(str(jobs[1].job_id), str(jobs[0].job_id))


def failing_on(host: Host, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store be overloaded for one of the cancellations."""
    cancel, count = host.queue.cancel, 0

    async def throttled(job_id: UUID, **options: Any) -> Job:
        nonlocal count
        count += 1
        if count == number:
            raise Throttled("The table is overloaded.")
        return await cancel(job_id, **options)

    monkeypatch.setattr(type(host.queue), "cancel", staticmethod(throttled))


async def test_a_bulk_that_fails_half_way_says_and_records_what_it_did(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = await waiting(host, 40)
    failing_on(host, 20, monkeypatch)
    async with client_of(create_app(host, console=False), token=host.local.token) as client:
        answer = await client.post("/api/jobs/cancel", json={"job_ids": [str(job.job_id) for job in jobs]})
    cancelled = {str(job.job_id) for job in jobs if (await host.queue.get(job.job_id)).status == JobStatus.CANCELLED}
    assert 0 < len(cancelled) < 40
    assert answer.status_code == 503
    error = answer.json()["error"]
    assert error["code"] == "stopped-halfway"
    assert set(error["details"]["done"]) == cancelled
    assert error["details"]["left"] == 40 - len(cancelled)
    assert {entry.target for entry in await entries(host)} == cancelled


async def test_a_bulk_goes_on_when_one_target_is_refused(host: Host) -> None:
    (gone,), jobs = await failed(host), await failed(host, 2)
    ids = [gone.job_id, *(job.job_id for job in jobs)]
    await host.queue.retry(gone.job_id)
    result = await perform(retry_jobs, ActionCall(host, LOCAL), retry_jobs.input(job_ids=ids))
    assert {job.job_id for job in result.done} == {job.job_id for job in jobs}
    assert [refused.target for refused in result.refused] == [str(gone.job_id)]
    assert retry_jobs.done(result).startswith("2 retried, 1 refused: ")
    assert {entry.target for entry in await entries(host)} == {str(job.job_id) for job in jobs}


async def test_eighty_cancelled_jobs_have_eighty_entries(host: Host) -> None:
    jobs = await waiting(host, 80)
    await perform(cancel_jobs, ActionCall(host, LOCAL), JobsToCancel(job_ids=[job.job_id for job in jobs], reason="too many"))
    assert {entry.target for entry in await entries(host)} == {str(job.job_id) for job in jobs}


async def test_nothing_is_cancelled_if_one_id_does_not_exist(host: Host) -> None:
    (job,) = await waiting(host)
    with pytest.raises(JobMissing):
        await perform(cancel_jobs, ActionCall(host, LOCAL), JobsToCancel(job_ids=[job.job_id, UUID(int=7)]))
    assert (await host.queue.get(job.job_id)).status == JobStatus.PENDING
    assert await entries(host) == []


async def test_a_tree_is_recorded_job_by_job(host: Host) -> None:
    (top,) = await waiting(host)
    below = await waiting(host, 2, parent_job_id=top.job_id)
    reply = await by_api(host, host.settings, next(a for a in ACTIONS if a.name == "job.cancel-tree"), CancelJob(job_id=top.job_id))
    family = {str(job.job_id) for job in (top, *below)}
    assert {job["job_id"] for job in reply["jobs"]} == family
    assert {entry.target for entry in await entries(host)} == family


async def test_who_may_not_is_refused_with_the_role_that_is_needed(host: Host) -> None:
    (job,) = await waiting(host)
    viewer = Principal("vera", Role.VIEWER)
    attempts: list[tuple[Action[Any, Any], Any]] = [
        (cancel_job, CancelJob(job_id=job.job_id)),
        (cancel_jobs, JobsToCancel(job_ids=[job.job_id])),
    ]
    for action, given in attempts:
        with pytest.raises(NotAllowed, match="needs the role operator; 'vera' has viewer"):
            await perform(action, ActionCall(host, viewer), given)
    assert await entries(host) == []


# -- laws over the whole table


@pytest.mark.parametrize("action", [pytest.param(action, id=action.name) for action in ACTIONS])
async def test_an_action_is_at_every_door(host: Host, action: Action[Any, Any]) -> None:
    method, path = action.http.split()
    routes = {
        (method, route.path)
        for route in flat_routes(create_app(host, console=False).router.routes)
        for method in getattr(route, "methods", None) or ()
    }
    assert (method, path) in routes
    assert action.command
    listed = CliRunner().invoke(command_line, [*action.command.split(), "--help"])
    assert listed.exit_code == 0, listed.output
    tool = f"gateleg.{action.tool_of(host).name}"
    assert (tool in {offered.name for offered in host.tools_for(LOCAL)}) == action.tool
    assert tool not in {offered.name for offered in host.tools_for(Principal("m", Role.MEMBER))}


def test_no_tool_takes_or_shows_a_secret() -> None:
    shows_nothing = Action.__dataclass_fields__["once"].default
    for action in ACTIONS:
        takes_secret = any(info.annotation is SecretStr for info in action.input.model_fields.values())
        assert not (action.tool and (takes_secret or action.once is not shows_nothing)), action.name


async def test_a_queue_is_paused_alike_at_every_door(host: Host, settings: Settings) -> None:
    await waiting(host)
    for door in DOORS:
        await door(host, settings, pause_queue, QueueTarget(name="default"))
    assert [told(entry) for entry in await entries(host)] == [("queue.pause", "default", {})] * 3


@pytest.mark.parametrize("door", DOORS)
async def test_a_schedule_is_run_now_alike_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    await host.queue.schedule("nightly", Submission("add", {"numbers": [1]}), every=86_400)
    await door(host, settings, run_schedule, ScheduleTarget(name="nightly"))
    (job,) = (await host.queue.jobs_page(job_type="add")).items
    assert job.created_by in {"local, schedule:nightly", "command line, schedule:nightly"}
    assert job.tags == ["schedule:nightly"]
    assert [told(entry) for entry in await entries(host)] == [("schedule.run", "nightly", {"job_id": str(job.job_id)})]


def test_names_and_routes_are_unique() -> None:
    names, routes = [action.name for action in ACTIONS], [action.http for action in ACTIONS]
    assert sorted(set(names)) == sorted(names)
    assert sorted(set(routes)) == sorted(routes)


@pytest.mark.parametrize("command", [["cancel", "7" * 8], ["retry", "--all"], ["pause", "mail"]])
def test_a_command_on_a_store_without_a_queue_says_what_makes_one(tmp_path: Path, command: list[str]) -> None:
    store = f"embedded:{tmp_path}/bare"
    Store.connect(store).close()
    result = CliRunner().invoke(command_line, ["jobs", *command, "--store", store])
    assert result.exit_code == 1
    assert "has no queue yet: `gateleg jobs submit`" in result.output

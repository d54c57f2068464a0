import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli.commands import app
from gateleg.jobs import Jobs, Queue, Submission
from gateleg.jobs import TestWorker as InlineWorker
from gateleg.jobs.handlers import DeclaredSchedule
from gateleg.jobs.retention import log_key
from gateleg.jobs.tables import WorkerRecord
from gateleg.jobs.tables.job import Job, JobStatus, Logs
from gateleg.jobs.tables.records import summary_of
from gateleg.objects import DirectoryObjects
from gateleg.store import Store
from tests.jobs.chores import jobs
from tests.jobs.foreign.seed_items import NO_UUID, pipeline_item, wire_item

#: What a worker's record has besides its name and its clock.
RECORD: dict[str, Any] = {
    "host": "here", "pid": 1, "app_version": "", "queues": ["default"], "weights": {"default": 1}, "concurrency": 1, "lease_seconds": 30.0,
}  # fmt: skip


class Desk:
    """Runs commands on one store."""

    def __init__(self, store: str) -> None:
        self.store = store

    def run(self, *arguments: str, input: str | None = None) -> Result:
        return CliRunner().invoke(app, ["jobs", *arguments, "--store", self.store], input=input)

    def ok(self, *arguments: str, input: str | None = None) -> str:
        result = self.run(*arguments, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--json"))

    def submit(self, *arguments: str) -> str:
        return self.ok("submit", *arguments, "--app", "tests.jobs.chores").strip()

    def finish(self, **options: Any) -> None:
        """Run everything that is ready."""
        with Store.connect(self.store) as store:
            InlineWorker(Queue(store, jobs)).run(**options)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("GATELEG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GATELEG_OBJECTS", f"dir:{tmp_path / 'objects'}")
    place = f"embedded:{tmp_path / 'data'}"
    with Store.connect(place) as store:
        Queue(store, jobs).ensure_tables()
    return Desk(place)


def test_an_item_whose_id_is_no_uuid_is_named_by_each_command(desk: Desk) -> None:
    with Store.connect(desk.store) as store:
        queue = Queue(store, jobs)
        store.transport.call("PutItem", {"TableName": queue.context.queue_table_name, "Item": wire_item(pipeline_item(job_id=NO_UUID))})
    for command in ("show", "tree", "logs", "cancel", "retry"):
        refused = desk.run(command, NO_UUID)
        assert (refused.exit_code, "Put the job again with one, such as" in refused.output) == (1, True), refused.output
    listed = desk.run("list")
    assert f"{NO_UUID} is unreadable: job_id: '{NO_UUID}' is not a UUID. Put the job again" in listed.output
    assert desk.json("list")["unreadable"][0]["job_id"] == NO_UUID


def test_a_job_is_submitted_listed_and_shown(desk: Desk) -> None:
    name = desk.submit("echo", '{"words": ["a"]}', "--subject", "s", "--priority", "80", "--tag", "red")
    assert name in desk.ok("list")
    (listed,) = desk.json("list", "--status", "pending", "--tag", "red")["items"]
    assert (listed["job_id"], listed["priority"], listed["subject"]) == (name, 80, "s")
    assert "PENDING" in desk.ok("show", name)
    desk.finish()
    assert desk.json("show", name)["job_results"]["value"] == {"said": "a"}
    assert "attempt 1 by test-worker" in desk.ok("show", name)
    assert desk.ok("list", "--status", "PENDING") == "No jobs.\n"


def test_a_config_comes_from_standard_input(desk: Desk) -> None:
    name = desk.ok("submit", "echo", "-", "--app", "tests.jobs.chores:jobs", input='{"words": ["x"]}').strip()
    assert desk.json("show", name)["job_config"] == {"words": ["x"]}


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("submit", "echo", "{", "--app", "tests.jobs.chores"), 2, "not JSON"),
        (("submit", "echo", "[]", "--app", "tests.jobs.chores"), 2, "must be a JSON object"),
        (("submit", "echo", '{"words": 1}', "--app", "tests.jobs.chores"), 1, "bad-config"),
        (("submit", "nothing", "--app", "tests.jobs.chores"), 1, "unknown-job-type"),
        (("submit", "nothing"), 1, "--app"),
        (("submit", "echo", "--app", "tests.jobs.nowhere"), 2, "cannot import"),
        (("submit", "echo", "--app", "tests.jobs.chores:nothing"), 2, "has no attribute 'nothing'"),
        (("submit", "echo", "--app", "tests.jobs.chores:echo"), 2, "is not a gateleg.jobs.Jobs"),
        (("submit", "echo", "--app", "tests/jobs/chores.py"), 2, "it is a file; write the module, as in tests.jobs.chores"),
        (("list", "--cursor", "x"), 1, "Start again without a cursor"),
        (("show", "x"), 2, "not a job id"),
        (("show", str(uuid4())), 1, "job-missing"),
        (("list", "--status", "LOST"), 2, "not a status"),
        (("retry",), 2, "pass JOB, or choose with options: --all, --status"),
        (("archive",), 2, "use --subject or --type"),
    ],
)
def test_mistakes_are_told_in_one_line(desk: Desk, arguments: tuple[str, ...], status: int, told: str) -> None:
    result = desk.run(*arguments)
    assert result.exit_code == status
    assert told in result.stderr
    assert "Traceback" not in result.output


def test_a_config_that_is_refused_creates_no_store(tmp_path: Path) -> None:
    result = Desk(f"embedded:{tmp_path}/new").run("submit", "echo", "{", "--app", "tests.jobs.chores")
    assert "not JSON" in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_misspelt_object_is_compared_with_objects_of_that_kind(desk: Desk) -> None:
    assert "Did you mean 'jobs'?" in desk.run("submit", "echo", "--app", "tests.jobs.chores:job").stderr


def test_the_log_is_printed_and_followed(desk: Desk) -> None:
    name = desk.submit("echo", '{"words": ["one", "two"]}')
    desk.finish()
    assert [line.split(maxsplit=3)[3] for line in desk.ok("logs", name).splitlines()] == ["one", "two"]
    assert [line.split(maxsplit=3)[3] for line in desk.ok("logs", name, "-f").splitlines()] == ["one", "two"]
    assert json.loads(desk.ok("logs", name, "--json").splitlines()[0])["message"] == "one"


def test_following_a_job_that_fails_ends_with_1(desk: Desk) -> None:
    name = desk.submit("fails")
    desk.finish()
    assert desk.run("logs", name, "-f").exit_code == 1


def test_jobs_are_cancelled_and_retried(desk: Desk) -> None:
    name = desk.submit("echo")
    assert "is CANCELLED" in desk.ok("cancel", name, "--reason", "no need")
    assert desk.json("show", name)["cancel_reason"] == "no need"
    assert desk.ok("retry", name) == f"Job {name} waits for a worker again\n"
    failing = [desk.submit("fails"), desk.submit("fails")]
    desk.finish(limit=3)
    assert desk.ok("retry", "--type", "fails") == "2 retried\n"
    assert len(desk.json("cancel", failing[0], "--tree")["jobs"]) == 1


def test_a_tree_shows_every_job(desk: Desk) -> None:
    name = desk.submit("family")
    desk.finish()
    shown = desk.ok("tree", name)
    assert "family" in shown
    assert "echo / child 1" in shown
    assert [child["stage"] for child in desk.json("tree", name)["children"]] == ["child 0", "child 1"]
    assert "100%" in desk.ok("tree", name, "--watch")


def test_jobs_of_a_tree_are_told_apart_by_their_configs(desk: Desk) -> None:
    name = desk.submit("echo")
    with Store.connect(desk.store) as store:
        Queue(store, jobs).submit_many([Submission("echo", {"words": [word]}, parent_job_id=UUID(name)) for word in ("one", "two")])
    shown = desk.ok("tree", name)
    assert 'echo  words ["one"]' in shown
    assert 'echo  words ["two"]' in shown


def test_jobs_of_a_tree_that_failed_or_were_cancelled_have_no_full_bar(desk: Desk) -> None:
    failed, cancelled = desk.submit("fails"), desk.submit("family")
    desk.finish(limit=1)
    desk.ok("cancel", cancelled)
    for name, status in ((failed, "FAILED"), (cancelled, "CANCELLED")):
        shown = desk.ok("tree", name, "--watch")
        assert status in shown
        assert "100%" not in shown
        assert desk.json("tree", name)["fraction"] == 0


def test_the_ids_of_a_tree_name_its_jobs(desk: Desk) -> None:
    name = desk.submit("family")
    desk.finish()
    (*_, last) = desk.ok("tree", name).splitlines()
    child = next(word for word in last.split() if len(word) == 8 and int(word, 16) >= 0)
    assert "child 1" in desk.ok("show", child)
    assert "is COMPLETED" in desk.ok("cancel", child)
    assert "3 of 3 done" in desk.ok("tree", name[:13])


def test_the_beginning_of_an_id_must_name_one_job(desk: Desk) -> None:
    ids = [UUID(f"abcd0000-0000-4000-8000-00000000000{at}") for at in range(2)]
    with Store.connect(desk.store) as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        for job_id in ids:
            store.create(Job(job_id=job_id, job_type="echo"))
    several = desk.run("show", "ABCD")
    assert (several.exit_code, str(ids[1]) in several.output) == (1, True)
    assert "no job in the queue" in desk.run("show", "ffff").output
    assert desk.run("show", "abc").exit_code == 2
    assert str(ids[0]) in desk.ok("show", str(ids[0])[:36])


def test_a_queue_that_no_worker_serves_is_measured_too(desk: Desk) -> None:
    desk.submit("echo", "--queue", "images")
    found = {one["queue"]: one["waiting"] for one in desk.json("stats")}
    assert found["images"] == 1


@pytest.mark.parametrize("command", [("submit", "echo"), ("schedules", "add", "often", "echo")])
def test_a_name_that_the_model_of_a_config_would_ignore_is_refused(desk: Desk, command: tuple[str, ...]) -> None:
    options = ("--every", "60") if command[0] == "schedules" else ()
    told = desk.run(*command, '{"wrods": ["a"]}', "--app", "tests.jobs.chores", *options)
    assert (told.exit_code, "the config of echo has no 'wrods'. Did you mean 'words'? Nothing was submitted." in told.output) == (1, True)
    assert desk.run(*command, '{"words": ["a"]}', "--app", "tests.jobs.chores", *options).exit_code == 0


@pytest.mark.parametrize("command", ["pause", "resume", "drain"])
def test_a_queue_that_nothing_uses_may_be_misspelt(desk: Desk, command: str) -> None:
    desk.submit("echo", "--queue", "images")
    told = desk.run(command, "imgaes")
    assert "No job and no worker uses the queue imgaes so far. Did you mean 'images'?" in told.output
    assert "no job" not in desk.run(command, "images").output


def test_queues_are_paused_resumed_drained_and_measured(desk: Desk) -> None:
    assert desk.ok("pause", "default") == "default is paused\n"
    (found,) = desk.json("stats")
    assert (found["queue"], found["mode"]) == ("default", "paused")
    assert "paused" in desk.ok("stats", "--queue", "default")
    assert desk.ok("drain", "default") == "default is draining\n"
    assert desk.ok("resume", "default") == "default is running\n"
    assert desk.ok("workers") == "No workers.\n"


def test_schedules_are_added_listed_and_removed(desk: Desk) -> None:
    added = desk.ok("schedules", "add", "nightly", "echo", "--cron", "0 3 * * *", "--app", "tests.jobs.chores")
    assert "runs next at" in added
    assert "0 3 * * *" in desk.ok("schedules", "list")
    assert "disabled" in desk.ok("schedules", "disable", "nightly")
    assert desk.json("schedules", "list")["items"][0]["enabled"] is False
    desk.ok("schedules", "enable", "nightly")
    desk.ok("schedules", "remove", "nightly")
    assert desk.ok("schedules", "list") == "No schedules.\n"
    assert desk.run("schedules", "add", "x", "echo", "--app", "tests.jobs.chores").exit_code == 1


def test_the_archive_is_swept_and_listed(desk: Desk) -> None:
    desk.submit("echo", "--subject", "s")
    desk.finish()
    assert "0 jobs archived" in desk.ok("archive", "--sweep")
    assert desk.ok("archive", "--subject", "s") == "No archived jobs.\n"


def long_ago(desk: Desk) -> Job:
    """A job that was finished a month ago, with a long log."""
    month = 31 * 86400
    with Store.connect(desk.store, clock=lambda: time.time() - month) as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        job = queue.submit(Submission("echo", {"words": [f"word {number}" for number in range(60)]}, subject="s")).job
        InlineWorker(queue).run()
    return job


def test_a_sweep_copies_long_logs_to_the_object_store(desk: Desk, tmp_path: Path) -> None:
    job = long_ago(desk)
    assert desk.ok("archive", "--sweep", "--objects", f"dir:{tmp_path}/objects") == "1 job archived\n"
    assert "all 60 are in the object" in desk.run("logs", str(job.job_id)).stderr
    assert len(DirectoryObjects(tmp_path / "objects").get(log_key(job.job_id)).splitlines()) == 60


def test_a_sweep_takes_the_object_store_of_the_settings(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = long_ago(desk)
    monkeypatch.setenv("GATELEG_OBJECTS", f"dir:{tmp_path}/objects")
    assert desk.ok("archive", "--sweep") == "1 job archived\n"
    assert DirectoryObjects(tmp_path / "objects").get(log_key(job.job_id))


def test_a_sweep_without_an_object_store_keeps_long_logs_and_says_so(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GATELEG_OBJECTS", "GATELEG_DATA"):
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    # A single file of tables, not the folder of a host.
    desk = Desk(f"{desk.store}/gateleg.db")
    job = long_ago(desk)
    assert "1 of them have long logs, which stay in the queue's tables" in desk.ok("archive", "--sweep")
    assert len(desk.ok("logs", str(job.job_id)).splitlines()) == 60


def test_the_queues_own_jobs_are_listed_when_asked_for(desk: Desk) -> None:
    first = desk.submit("fails")
    desk.submit("echo", "--after", first)
    desk.finish()
    assert "gateleg.settle" not in {job["job_type"] for job in desk.json("list")["items"]}
    assert "gateleg.settle" in {job["job_type"] for job in desk.json("list", "--internal")["items"]}


@pytest.mark.parametrize("command", [["submit"], ["schedules", "add", "nightly", "--every", "60"]])
@pytest.mark.parametrize("job", [["ehco"], ["echo", '{"words": 5}']])
def test_a_submission_that_fails_creates_no_store(tmp_path: Path, command: list[str], job: list[str]) -> None:
    options = [*command, *job, "--app", "tests.jobs.chores"]
    result = Desk(f"embedded:{tmp_path / 'typo'}").run(*options)
    assert result.exit_code == 1
    assert "gateleg: " in result.stderr
    assert not (tmp_path / "typo").exists()


def test_internal_jobs_of_an_application_are_listed_when_asked_for(desk: Desk) -> None:
    desk.submit("sweep")
    assert desk.ok("list") == "No jobs.\n"
    for options in (("--internal",), ("--type", "sweep")):
        assert [job["job_type"] for job in desk.json("list", *options)["items"]] == ["sweep"]


def _shifted(ahead: float) -> float:
    return time.time() + ahead


def test_workers_show_how_far_their_clocks_are_ahead(desk: Desk) -> None:
    for name, ahead in (("right", 0.0), ("fast", 90.0), ("slow", -7200.0)):
        with Store.connect(desk.store, clock=partial(_shifted, ahead)) as store:
            queue = Queue(store, Jobs())
            queue.ensure_tables()
            now = queue.context.now()
            queue.report_worker(WorkerRecord(worker_id=name, clock_ahead=ahead, started_at=now, seen_at=now, **RECORD))
    lines = desk.ok("workers").splitlines()
    shown = {name: next(line for line in lines if name in line) for name in ("right", "fast", "slow")}
    assert "1 min 30 s ahead" in shown["fast"]
    assert "2 h behind" in shown["slow"]
    assert "ahead" not in shown["right"]
    assert {one["worker_id"]: one["clock_ahead"] for one in desk.json("workers")} == {"right": 0.0, "fast": 90.0, "slow": -7200.0}


def test_a_worker_runs_jobs_until_it_is_told_to_stop(desk: Desk) -> None:
    name = desk.submit("echo", '{"words": ["hello"]}', "--queue", "side")
    command = [sys.executable, "-m", "gateleg", "worker", "--app", "tests.jobs.chores", "--store", desk.store, "--queues", "side=2,default"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            assert "works on side, default" in process.stdout.readline()
            followed = desk.run("logs", name, "-f")
            assert "hello" in followed.output
            process.send_signal(signal.SIGTERM)
            assert "has stopped" in process.stdout.read()
            assert process.wait() == 0
        finally:
            watchdog.cancel()
            process.kill()
    with Store.connect(desk.store) as store:
        assert [job.status for job in Queue(store, Jobs()).jobs_page()] == [JobStatus.COMPLETED]


def test_queues_of_a_worker_are_checked() -> None:
    for text in ("a=0", "=1", "a=x", ""):
        result = CliRunner().invoke(app, ["worker", "--app", "tests.jobs.chores", "--queues", text])
        assert result.exit_code == 2


def test_the_log_of_an_archived_job_says_where_the_rest_is(desk: Desk) -> None:
    name = desk.submit("echo", '{"words": ["one"]}')
    desk.finish()
    assert "object" not in desk.run("logs", name).stderr
    with Store.connect(desk.store) as store:
        queue = Queue(store, jobs)
        long = queue.get(UUID(name)).model_copy(update={"logs": Logs(earlier=80)})
        store.put(summary_of(long, queue.context.now(), "jobs/log.jsonl"))
        store.delete(Job, job_id=long.job_id)
    assert "all 80 are in the object jobs/log.jsonl" in desk.run("logs", name).stderr


def test_a_schedule_that_is_no_longer_declared_is_listed_as_such(desk: Desk) -> None:
    with Store.connect(desk.store) as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        queue.declare_schedules({"music": (DeclaredSchedule("nightly", "echo", cron="0 3 * * *"),)})
        queue.declare_schedules({"music": ()})
    assert "no longer declared" in desk.ok("schedules", "list")
    desk.ok("schedules", "enable", "nightly")
    assert "no longer declared" not in desk.ok("schedules", "list")

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateleg.host import Application, Check, CheckResult, Resources
from gateleg.host.doctor import clock_result, disk_result, examine, private_files_result, worker_result
from gateleg.host.host import Host
from gateleg.host.settings import Settings, load_settings
from gateleg.jobs.tables import WorkerRecord
from tests.web.sample import make_application


def worker(*queues: str, ahead: float = 0.0) -> WorkerRecord:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return WorkerRecord(worker_id="w", host="h", pid=1, queues=list(queues), clock_ahead=ahead, started_at=now, seen_at=now)


def test_a_queue_with_handlers_and_no_worker_is_a_warning() -> None:
    assert worker_result([worker("a", "b")], {"a"}).status == "ok"
    assert worker_result([], set()).status == "ok"
    missing = worker_result([worker("a")], {"a", "b"})
    assert (missing.status, missing.message) == ("warning", "no worker has been seen for b")


@pytest.mark.parametrize(("free", "status"), [(3e9, "ok"), (1e9, "warning"), (1e8, "failed")])
def test_a_full_disk_fails_before_it_is_full(free: float, status: str) -> None:
    assert disk_result(int(free), Path("data")).status == status


def test_files_that_others_can_access_are_named_with_the_command_that_ends_it(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch(0o600)
    assert private_files_result([tmp_path, secret]).status == "ok"
    secret.chmod(0o644)
    result = private_files_result([tmp_path, secret])
    assert (result.status, result.message.endswith(f"run: chmod 600 {secret}.")) == ("warning", True)


def test_clocks_that_differ_are_named() -> None:
    assert clock_result([worker("a", ahead=1.0)]).status == "ok"
    assert clock_result([worker("a", ahead=-90.0)]).message == "clocks differ: h by -90 s"


async def broken() -> CheckResult:
    raise RuntimeError("the piano is locked")


async def well() -> CheckResult:
    return CheckResult("ok", "in tune")


def checks(resources: Resources) -> Sequence[Check]:
    return [Check("piano", broken), Check("violin", well)]


def no_checks(resources: Resources) -> Sequence[Check]:
    raise RuntimeError("nobody is there")


async def test_everything_is_checked_and_what_fails_says_so(settings: Settings) -> None:
    other = Application(name="other", title="Other", icon="star", checks=no_checks)
    async with Host.open(settings, [replace(make_application(), checks=checks), other]) as host:
        found = {(one.application, one.name): one.result for one in await examine(host)}
    kit = {name: result.status for (application, name), result in found.items() if application is None}
    assert kit == {
        "store": "ok",
        "tables": "ok",
        "objects": "ok",
        "disk": found[None, "disk"].status,
        "private files": "ok",
        "worker": "warning",
        "clock": "ok",
        "jobs": "ok",
        "job tables": "ok",
        "models": "ok",
    }
    assert found["music", "piano"] == CheckResult("failed", "RuntimeError: the piano is locked")
    assert found["music", "violin"].message == "in tune"
    assert found["other", "checks"].message == "RuntimeError: nobody is there"


async def test_tables_that_are_missing_fail(settings: Settings) -> None:
    async with Host.open(settings, [make_application()], prepare=False) as host:
        found = {one.name: one.result for one in await examine(host)}
    assert (found["store"].status, found["tables"].status) == ("ok", "failed")
    assert "Songs" in found["tables"].message
    assert " is missing. The table " in found["tables"].message


async def test_models_without_a_key_are_told_with_what_to_set(tmp_path: Path) -> None:
    environ = {"GATELEG_STORE": "embedded::memory:", "GATELEG_DATA": str(tmp_path), "GATELEG_MODELS__CHAT": "anthropic:claude-x"}
    async with Host.open(load_settings(environ=environ), [make_application()]) as host:
        (models,) = [diagnosis.result for diagnosis in await examine(host) if diagnosis.name == "models"]
    assert (models.status, models.message) == ("warning", "anthropic:claude-x needs a key, and none is configured.")
    assert 'key_env = "ANTHROPIC_API_KEY"' in models.fix

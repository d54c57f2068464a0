"""The checks of `gateleg doctor`: whether everything that a host and its applications need is available and works."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from gateleg.host.application import Check, CheckResult
from gateleg.host.host_secret import SECRET_FILE
from gateleg.host.settings import format_setting
from gateleg.objects import DirectoryObjects
from gateleg.private_files import exposure
from gateleg.store.addresses import parse_address
from gateleg.store.transports.embedded import database_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.ai import AiError
    from gateleg.host.host import Host
    from gateleg.host.openid import Metadata, OpenIdSettings
    from gateleg.host.openid_provider import OpenIdProvider
    from gateleg.jobs.queue_context import UnreadableJob
    from gateleg.jobs.tables import WorkerRecord

#: Seconds that one check may take.
TIMEOUT = 20.0
#: Free disk space in bytes below which there is a warning, and a failure.
_LOW, _FULL = 2_000_000_000, 200_000_000
#: Seconds by which clocks may differ.
_APART = 5.0


@dataclass(frozen=True)
class Diagnosis:
    """The result of a check; `application` is None for checks of the kit."""

    name: str
    result: CheckResult
    application: str | None = None


async def examine(host: Host) -> list[Diagnosis]:
    """Run all checks of the kit and of the applications, one after another."""
    found = [Diagnosis(check.name, await run(check)) for check in kit_checks(host)]
    for application in host.applications:
        if application.checks is None:
            continue
        try:
            checks = application.checks(host.resources[application.name])
        except Exception as error:
            found.append(Diagnosis("checks", _failure(error), application.name))
        else:
            found += [Diagnosis(check.name, await run(check), application.name) for check in checks]
    return found


async def run(check: Check) -> CheckResult:
    """The result of a check. An error or a timeout is a failure."""
    try:
        async with asyncio.timeout(TIMEOUT):
            return await check.run()
    except TimeoutError:
        return CheckResult("failed", f"no response within {TIMEOUT:g} s")
    except Exception as error:
        return _failure(error)


def _failure(error: Exception) -> CheckResult:
    message = getattr(error, "message", None) or str(error) or "no reason given"
    return CheckResult("failed", f"{type(error).__name__}: {message}", fix=str(getattr(error, "fix", "") or ""))


def kit_checks(host: Host) -> list[Check]:
    """The checks of the kit."""
    return [
        Check("store", lambda: _store(host)),
        Check("tables", lambda: _tables(host)),
        Check("objects", lambda: _objects(host)),
        Check("disk", lambda: _disk(host.settings.data)),
        Check("private files", lambda: _private_files(host)),
        Check("worker", lambda: _worker(host)),
        Check("clock", lambda: _clock(host)),
        Check("jobs", lambda: _jobs(host)),
        Check("job tables", lambda: _job_tables(host)),
        Check("models", lambda: _models(host)),
        *([] if host.openid is None else [Check("sign-in", partial(_sign_in, host, host.openid))]),
    ]


async def _store(host: Host) -> CheckResult:
    health = await host.store.within(5.0).health()
    place = format_setting(host.settings.store)
    if health.ok:
        return CheckResult("ok", f"{place} answers")
    return CheckResult(
        "failed", " ".join(health.problems), fix=f"Check that {place} is running, can be reached, and accepts your credentials."
    )


async def _tables(host: Host) -> CheckResult:
    health = await host.store.within(10.0).health(*host.tables)
    if health.ok:
        return CheckResult("ok", f"all {len(host.tables)} tables match their declarations")
    return CheckResult(
        "failed",
        " ".join(health.problems),
        fix="`gateleg tables plan` shows the differences, `gateleg tables apply` applies those that do not concern the key of a table.",
    )


async def _objects(host: Host) -> CheckResult:
    key, content, place = f"gateleg/doctor/{uuid4()}", b"gateleg doctor", format_setting(host.settings.objects)
    await host.objects.put(key, content)
    try:
        read = await host.objects.get(key)
    finally:
        await host.objects.delete(key)
    if read != content:
        return CheckResult("failed", f"{place} returned other content than was written", fix="Check the bucket or the folder.")
    return CheckResult("ok", f"{place} stores and returns objects")


async def _disk(folder: Path) -> CheckResult:
    return disk_result(shutil.disk_usage(folder).free, folder)


def disk_result(free: int, folder: Path) -> CheckResult:
    """The result for an amount of free disk space."""
    message = f"{free / 1e9:,.1f} GB free at {folder}"
    if free >= _LOW:
        return CheckResult("ok", message)
    return CheckResult("failed" if free < _FULL else "warning", message, fix="Free some space, or move `data` to a larger disk.")


async def _private_files(host: Host) -> CheckResult:
    paths = [host.settings.data, host.settings.data / SECRET_FILE]
    address = parse_address(host.settings.store)
    if address.kind == "embedded":
        paths.append(Path(database_file(address.place)))
    if isinstance(host.sync_objects, DirectoryObjects):
        paths.append(host.sync_objects.root)
    return private_files_result(paths)


def private_files_result(paths: Iterable[Path]) -> CheckResult:
    """Whether other users of this machine can access any of the host's files."""
    exposures = [text for path in dict.fromkeys(paths) if (text := exposure(path)) is not None]
    if not exposures:
        return CheckResult("ok", "only this user can access the host's files")
    return CheckResult("warning", " ".join(f"{text}." for text in exposures))


async def _worker(host: Host) -> CheckResult:
    handled = {handler.queue for handler in host.queue.context.jobs}
    return worker_result(await host.queue.workers(), handled)


def worker_result(workers: Sequence[WorkerRecord], handled: set[str]) -> CheckResult:
    """Whether every queue with handlers has a worker."""
    served = {queue for worker in workers for queue in worker.queues if worker.state == "running"}
    if handled <= served:
        return CheckResult("ok", f"{len(workers)} seen in the last minute" if workers else "no application has jobs")
    missing = ", ".join(sorted(handled - served))
    return CheckResult(
        "warning",
        f"no worker has been seen for {missing}",
        fix="Start one with `gateleg worker`, or with `gateleg up`, which includes one.",
    )


async def _jobs(host: Host) -> CheckResult:
    return jobs_result(await host.queue.set_aside())


def jobs_result(unreadable: Sequence[UnreadableJob]) -> CheckResult:
    """Whether all items of the job table are valid jobs, as far as workers have looked."""
    if not unreadable:
        return CheckResult("ok", "no invalid item has been found in the job table")
    named = "; ".join(f"{bad.job_id}: {bad.reason}" for bad in unreadable[:3])
    more = f", and {len(unreadable) - 3} more" if len(unreadable) > 3 else ""
    return CheckResult(
        "warning",
        f"{len(unreadable)} items of the job table are not valid jobs: {named}{more}",
        fix="Correct these attributes, or delete the items. All other jobs go on.",
    )


async def _job_tables(host: Host) -> CheckResult:
    """Whether the store has jobs in tables of an application that this host does not have."""
    unread = await host.queue.unread_tables()
    if not unread:
        tables = [tables.names.queue for tables in host.queue.context.ledgers]
        return CheckResult("ok", f"all jobs of the store are in {' and '.join(tables)}")
    return CheckResult(
        "failed",
        f"the store has jobs in {', '.join(unread)}, which no application of this host reads: they are neither listed nor run",
        fix="Install the application that brings these tables. A host of an earlier release kept the jobs of all applications there: "
        "with that application, this host lists and runs them all.",
    )


async def _models(host: Host) -> CheckResult:
    return models_result(await asyncio.to_thread(host.models.problems))


def models_result(problems: Sequence[AiError]) -> CheckResult:
    """Whether the models and providers of the settings have all they need, such as keys."""
    if not problems:
        return CheckResult("ok", "the configured models have what they need")
    return CheckResult(
        "warning", " ".join(problem.message for problem in problems), fix=" ".join(dict.fromkeys(str(problem.fix) for problem in problems))
    )


async def _sign_in(host: Host, provider: OpenIdProvider) -> CheckResult:
    return sign_in_result(provider.settings, *await provider.examine(), url=host.settings.url)


def sign_in_result(settings: OpenIdSettings, metadata: Metadata, keys: int, *, url: str | None) -> CheckResult:
    """Whether what a provider says of itself fits the settings."""
    message = f"{settings.issuer} answers, with {keys} usable {'key' if keys == 1 else 'keys'}"
    back = f"{url or 'the address of this host'}/signin/openid/callback"
    if metadata.signing_algorithms and not set(metadata.signing_algorithms) & set(settings.algorithms):
        offered = ", ".join(metadata.signing_algorithms)[:200]
        return CheckResult("failed", f"{message}, but signs with {offered} only", fix="Set `algorithms` of [oidc] to one of these.")
    if metadata.challenge_methods is not None and "S256" not in metadata.challenge_methods:
        return CheckResult(
            "warning", f"{message}, but does not know PKCE with S256", fix="Allow PKCE for this client, if the provider can."
        )
    if settings.userinfo and metadata.userinfo_endpoint is None:
        return CheckResult("failed", f"{message}, but has no userinfo endpoint", fix="Set `userinfo` of [oidc] to false.")
    return CheckResult("ok", f"{message}; it must allow {back}")


async def _clock(host: Host) -> CheckResult:
    return clock_result(await host.queue.workers())


def clock_result(workers: Sequence[WorkerRecord]) -> CheckResult:
    """Whether the clocks of workers agree: leases and delays depend on them."""
    apart = [worker for worker in workers if abs(worker.clock_ahead) > _APART]
    if apart:
        workers_ahead = ", ".join(f"{worker.host} by {worker.clock_ahead:+.0f} s" for worker in apart)
        return CheckResult("warning", f"clocks differ: {workers_ahead}", fix="Synchronise the clocks with NTP.")
    return CheckResult("ok", "the clocks of all workers agree")

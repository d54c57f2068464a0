"""`gateleg worker`: run jobs until a signal arrives."""

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.commands.opening import settings_from
from gateleg.commands.options import (
    AppOption,
    ConfigOption,
    DataOption,
    LogOption,
    ObjectsOption,
    PrefixOption,
    StoreOption,
)
from gateleg.commands.printing import MISUSED, fail

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Iterator

    from gateleg.host.metrics import HostMetrics
    from gateleg.host.settings import Settings
    from gateleg.jobs import AsyncQueue
    from gateleg.jobs import QueueSettings as JobSettings
    from gateleg.jobs.worker import WorkerPool
    from gateleg.objects import AsyncObjects

app = typer.Typer(add_completion=False)


@app.command()
def worker(
    app: AppOption = None,
    store: StoreOption = None,
    data: DataOption = None,
    prefix: PrefixOption = None,
    objects: ObjectsOption = None,
    queues: Annotated[
        str | None, typer.Option(help="Queues to poll, with weights: urgent=3,default. By default, all queues of the handlers.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of concurrent jobs.")] = 4,
    limit: Annotated[
        str | None,
        typer.Option(help="Maximum concurrent jobs per queue: renders=1,default=cores-1. By default, the limits of the handlers."),
    ] = None,
    lease: Annotated[
        float, typer.Option(min=1.0, help="Lease in seconds: other workers take over the jobs of a worker that is silent for longer.")
    ] = 30.0,
    drain: Annotated[float, typer.Option(min=0.0, help="Seconds that running jobs have to finish after SIGTERM.")] = 30.0,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to serve metrics for Prometheus on, on this machine; 0 for a free one.")
    ] = None,
    version: Annotated[str, typer.Option(help="The application's version, shown in the list of workers.")] = "",
    log: LogOption = None,
    config: ConfigOption = None,
) -> None:
    """Run jobs. SIGINT and SIGTERM let running jobs finish and release those that take too long; a second SIGINT stops at once.

    If the store is unavailable, the worker waits for it.
    """
    import asyncio

    from gateleg.cli.host_runner import explain
    from gateleg.host.logs import set_up_logs
    from gateleg.jobs import QueueSettings as JobSettings

    weights = None if queues is None else _weights(queues)
    limits = {} if limit is None else _limits(limit)
    settings = settings_from(config, store=store, data=data, objects=objects, prefix=prefix, log=log, worker_metrics_port=metrics_port)
    set_up_logs(settings)
    try:
        asyncio.run(_work(app, settings, JobSettings(lease_seconds=lease), weights, limits, concurrency, drain, version))
    except Exception as error:
        explain(error, settings)


async def _work(
    app: str | None,
    settings: "Settings",
    rules: "JobSettings",
    queues: dict[str, int] | None,
    limits: dict[str, int],
    concurrency: int,
    drain: float,
    version: str,
) -> None:
    import asyncio

    from gateleg.cli.shutdown import exit_soon, open_when_available, stopping_on_signals, watching
    from gateleg.host.settings import format_setting
    from gateleg.jobs.worker import DRAIN_GRACE, WorkerPool, exclude_loaded_modules

    stop = asyncio.Event()
    with stopping_on_signals(stop, drain + DRAIN_GRACE, f"running jobs have up to {drain:g} s to finish"):
        async with open_when_available(lambda: _opened(app, settings, rules), settings, stop) as opened:
            if opened is None:
                typer.echo("Stopped before the store was available.")
                return
            queue, objects, measured = opened
            workers = WorkerPool(
                queue,
                queues=queues,
                concurrency=concurrency,
                limits=limits,
                drain_seconds=drain,
                app_version=version,
                objects=objects,
                scratch=settings.data / "scratch",
            )
            _warn_of_unserved(set(limits), {name for worker in workers.workers for name in worker.queues})
            stopping = asyncio.create_task(_stop_when(stop, workers))
            for worker in workers.workers:
                typer.echo(f"{worker.worker_id} works on {', '.join(worker.queues)} of {format_setting(settings.store)}")
            exclude_loaded_modules()
            with shown_metrics(settings, measured, workers), watching(settings.watchdog_seconds, workers.running):
                await workers.run()
            stopping.cancel()
            for worker in workers.workers:
                typer.echo(f"{worker.worker_id} has stopped")
    exit_soon()


@contextmanager
def shown_metrics(settings: "Settings", measured: "HostMetrics", workers: "WorkerPool") -> "Iterator[None]":
    """Serve the metrics of a worker while it runs, if the settings have a port for them."""
    from gateleg.host.metrics import serving_metrics

    if settings.worker_metrics_port is None:
        yield
        return
    address = settings.worker_metrics_host
    with serving_metrics(measured, address, settings.worker_metrics_port, lambda: len(workers.running())) as port:
        typer.echo(f"Metrics: http://{f'[{address}]' if ':' in address else address}:{port}/metrics")
        yield


async def _stop_when(stop: "asyncio.Event", workers: "WorkerPool") -> None:
    await stop.wait()
    workers.stop()


@asynccontextmanager
async def _opened(
    app: str | None, settings: "Settings", rules: "JobSettings"
) -> "AsyncIterator[tuple[AsyncQueue, AsyncObjects | None, HostMetrics]]":
    """The queue to work on. Applications get all resources of a host; plain handlers the store, and objects for long logs."""
    from gateleg.cli.installed import installed_applications, loaded
    from gateleg.cli.jobs.archive_sweep import log_objects
    from gateleg.cli.jobs.queue_connection import brought_tables
    from gateleg.host import Application
    from gateleg.host.change_consumers import consuming
    from gateleg.host.host import Host
    from gateleg.host.metrics import HostMetrics
    from gateleg.host.queues import queue_rules
    from gateleg.jobs import AsyncQueue, Jobs
    from gateleg.jobs.tables import tables_named
    from gateleg.store import AsyncStore, Metrics

    found = None if app is None else loaded(app, "jobs")
    if found is None or isinstance(found, Application):
        applications = installed_applications(settings) if found is None else [found]
        # All tables of a host: those of other applications may have jobs of this one, such as those of an earlier release.
        further = brought_tables(settings, app)
        async with Host.open(settings, applications, rules=rules, tolerant=found is None, further=further) as host, consuming(host):
            yield host.queue, host.objects, host.measured
        return
    handlers: Jobs | object = getattr(found, "jobs", found)
    if not isinstance(handlers, Jobs):
        fail(f"{app} is neither a gateleg.jobs.Jobs nor a gateleg.host.Application", MISUSED)
    if not handlers:
        fail(f"{app} has no job handlers. Decorate functions with its @jobs.handler(...), and import the modules that do", MISUSED)
    costs = Metrics()
    measured = HostMetrics(costs.by_pattern)
    async with AsyncStore.connect(settings.store, settings.prefix, table_names=settings.table_names, hooks=[costs]) as store:
        brought = [(names, await store.table_states(tables_named(names).all[0])) for names in brought_tables(settings, app)]
        existing = [names for names, states in brought if "MISSING" not in states.values()]
        queue = AsyncQueue(store, handlers, queue_rules(settings, rules), further=existing)
        measured.observe(queue.context.jobs)
        await queue.ensure_tables()
        # By the name of the application: others that share the store have their own schedules.
        await queue.declare_schedules({str(app): handlers.schedules})
        async with log_objects(settings) as objects:
            yield queue, objects, measured


def _weights(text: str) -> dict[str, int]:
    """Parse queues with weights, such as `urgent=3,default`."""
    from gateleg.jobs.rules import is_name

    found = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition("=")
        if not is_name(name) or (weight and (not weight.isdecimal() or int(weight) < 1)):
            fail(f"--queues expects names with weights, such as urgent=3,default, got {text!r}", MISUSED)
        found[name] = int(weight or 1)
    return found


def _warn_of_unserved(limits: set[str], served: set[str]) -> None:
    """Say which limits have no effect, such as one with a misspelt queue."""
    if unserved := sorted(limits - served):
        typer.echo(f"gateleg: --limit has no effect on {', '.join(unserved)}: this worker serves {', '.join(sorted(served))}", err=True)


def _limits(text: str) -> dict[str, int]:
    """Parse queues with limits, such as `renders=cores-1,reports=2`; at least 1."""
    import os
    import re

    from gateleg.jobs.rules import is_name

    found = {}
    for part in text.split(","):
        name, _, limit = part.strip().partition("=")
        match = re.fullmatch(r"([1-9]\d{0,3})|cores(?:-(\d{1,3}))?", limit)
        if not is_name(name) or match is None:
            fail(f"--limit expects queues with numbers, such as renders=cores-1,reports=2, got {text!r}", MISUSED)
        found[name] = int(match[1]) if match[1] else max(1, (os.cpu_count() or 1) - int(match[2] or 0))
    return found

"""`gateleg worker`: run jobs until told to stop."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.cli.failures import MISUSED, fail
from gateleg.cli.tables.options import DEFAULT_STORE, PrefixOption, StoreOption

if TYPE_CHECKING:
    from gateleg.jobs import Jobs

app = typer.Typer(add_completion=False)


@app.command()
def worker(
    app: Annotated[str, typer.Option("--app", envvar="GATELEG_APP", help="module:object with the job handlers.")],
    store: StoreOption = DEFAULT_STORE,
    prefix: PrefixOption = "",
    queues: Annotated[str, typer.Option(help="Queues to work on, with weights: urgent=3,default.")] = "default",
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Jobs that run at once.")] = 4,
    lease: Annotated[float, typer.Option(min=1.0, help="Seconds that the worker may be silent before others take its jobs.")] = 30.0,
    drain: Annotated[float, typer.Option(min=0.0, help="Seconds that running jobs have to end after SIGTERM.")] = 30.0,
    version: Annotated[str, typer.Option(help="The application's version, for whoever looks at the workers.")] = "",
) -> None:
    """Run jobs. SIGINT and SIGTERM let running jobs end, and give back those that take too long."""
    import asyncio

    from gateleg.cli.jobs.opening import load_jobs
    from gateleg.store import StoreError

    try:
        asyncio.run(_work(load_jobs(app), store, prefix, _weights(queues), concurrency, lease, drain, version))
    except StoreError as error:
        fail(str(error))


async def _work(
    jobs: "Jobs", store: str, prefix: str, queues: dict[str, int], concurrency: int, lease: float, drain: float, version: str
) -> None:
    import asyncio
    import signal

    from gateleg.jobs import AsyncQueue, Settings, Worker
    from gateleg.store import AsyncStore

    async with AsyncStore.connect(store, prefix=prefix) as target:
        queue = AsyncQueue(target, jobs, Settings(lease_seconds=lease))
        await queue.ensure_tables()
        worker = Worker(queue, queues=queues, concurrency=concurrency, drain_seconds=drain, app_version=version)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, worker.stop)
        typer.echo(f"{worker.worker_id} works on {', '.join(queues)} of {store}")
        await worker.run()
        typer.echo(f"{worker.worker_id} has stopped")


def _weights(text: str) -> dict[str, int]:
    """Queues and weights from `urgent=3,default`."""
    found = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition("=")
        if not name or (weight and (not weight.isdigit() or int(weight) < 1)):
            fail(f"--queues takes names with weights, such as urgent=3,default, not {text!r}", MISUSED)
        found[name] = int(weight or 1)
    return found

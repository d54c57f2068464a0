"""`stats` and `workers`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.cli.jobs.queue_connection import QueueOption, opened_queue
from gateleg.commands.opening import settings_from
from gateleg.commands.options import AppOption, ConfigOption, JsonOption, PrefixOption, StoreOption

if TYPE_CHECKING:
    from gateleg.jobs.monitor import QueueStats, Work


def stats(
    queue: QueueOption = None,
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    minutes: Annotated[int, typer.Option(min=1, help="Minutes of history to include.")] = 15,
    json: JsonOption = False,
) -> None:
    """Show waiting and running jobs, throughput and latency of one queue, or of all known queues."""
    from gateleg.commands.printing import print_json, print_rows

    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        names = [queue] if queue else opened.queue_names()
        found = [opened.stats(name, minutes=minutes) for name in names]
    if json:
        print_json([asdict(one) for one in found])
        return
    print_rows([_queue_row(one) for one in found])
    types = [(one.queue, name, work) for one in found for name, work in one.by_type.items()]
    if types:
        print_rows([{"queue": name, "type": kind, **_work(work)} for name, kind, work in types])


def _queue_row(found: "QueueStats") -> dict[str, str]:
    from gateleg.cli.jobs.formats import optional_duration

    return {
        "queue": found.queue,
        "mode": found.mode,
        "waiting": f"{found.waiting:,}",
        "delayed": f"{found.delayed:,}",
        "running": f"{found.running:,}",
        "oldest": optional_duration(found.oldest_waiting),
        **_work(found.work),
    }


def _work(work: "Work") -> dict[str, str]:
    from gateleg.cli.jobs.formats import optional_duration

    return {
        "completed": f"{work.completed:,}",
        "failed": f"{work.failed:,}",
        "retried": f"{work.retried:,}",
        "per minute": f"{work.throughput:.1f}",
        "p50 run": optional_duration(work.run_p50),
        "p95 run": optional_duration(work.run_p95),
        "p95 wait": optional_duration(work.wait_p95),
        "lost claims": f"{work.lost_claims:,}",
    }


def workers(
    store: StoreOption = None,
    prefix: PrefixOption = None,
    app: AppOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the workers that are alive."""
    from gateleg.cli.jobs.formats import age, plain
    from gateleg.commands.printing import print_json, print_rows

    with opened_queue(settings_from(config, store=store, prefix=prefix), app) as opened:
        found = opened.workers()
    if json:
        print_json([plain(one) for one in found])
    elif not found:
        typer.echo("No workers.")
    else:
        print_rows(
            [
                {
                    "worker": one.worker_id,
                    "state": one.state,
                    "queues": ", ".join(one.queues),
                    "running": f"{len(one.running)} of {one.concurrency}",
                    "up": age(one.started_at),
                    "seen": age(one.seen_at),
                    "clock": _clock(one.clock_ahead),
                    "memory": f"{one.memory_bytes / 1e6:,.0f} MB",
                    "version": one.app_version,
                }
                for one in found
            ]
        )


def _clock(ahead: float | None) -> str:
    """The clock skew of a worker, if any."""
    from gateleg.durations import duration

    return f"{duration(abs(ahead))} {'ahead' if ahead > 0 else 'behind'}" if ahead else ""

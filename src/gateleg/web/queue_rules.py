"""The rules of a host's queue that depend on its settings, and the tables that its applications bring for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.jobs import JobStatus, QueueSettings, TableNames
from gateleg.jobs.queue_context import QUEUE_NAME
from gateleg.jobs.tables import PLAIN
from gateleg.web.application import Application, BadApplication, check_made

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.web.settings import Settings


def queue_tables_of(application: Application) -> TableNames | None:
    """The tables that an application brings for its jobs; None if they are in the host's. Raises `BadApplication` for unfit names."""
    if application.queue_tables is None:
        return None
    names: TableNames = check_made(application, "queue_tables", application.queue_tables(), TableNames)
    if not QUEUE_NAME.fullmatch(names.queue) or names.queue == PLAIN.queue:
        raise BadApplication(
            f"The application {application.name} brings the queue table {names.queue!r}.",
            fix="Give it a name such as ShopJobQueue: a host without the application then finds the jobs in it, and says so.",
        )
    return names


def further_tables(applications: Iterable[Application]) -> tuple[TableNames, ...]:
    """The queue tables that applications bring, each once. Raises `BadApplication` if two of them differ in one table."""
    found: dict[str, TableNames] = {}
    for application in applications:
        names = queue_tables_of(application)
        if names is not None and found.setdefault(names.queue, names) != names:
            raise BadApplication(
                f"Two applications bring the queue table {names.queue}, with different other names.", fix="Rename the table of one of them."
            )
    return tuple(found.values())


def queue_rules(settings: Settings, rules: QueueSettings | None = None) -> QueueSettings:
    """The rules with the retention times of the settings."""
    finished, failed = timedelta(days=settings.finished_days), timedelta(days=settings.failed_days)
    kept = {JobStatus.COMPLETED: finished, JobStatus.CANCELLED: finished, JobStatus.FAILED: failed}
    return replace(rules or QueueSettings(), retention=kept)

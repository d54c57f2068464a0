"""The rules of a host's queue that depend on its settings."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.jobs import JobStatus, QueueSettings

if TYPE_CHECKING:
    from gateleg.web.settings import Settings


def queue_rules(settings: Settings, rules: QueueSettings | None = None) -> QueueSettings:
    """The rules with the retention times of the settings."""
    finished, failed = timedelta(days=settings.finished_days), timedelta(days=settings.failed_days)
    kept = {JobStatus.COMPLETED: finished, JobStatus.CANCELLED: finished, JobStatus.FAILED: failed}
    return replace(rules or QueueSettings(), retention=kept)

"""The pages about jobs: the list, one job, queues, workers, schedules, dead letters, the archive, and submitting."""

from gateleg.web.console.jobs import listing


def register() -> None:
    """Serve all pages about jobs. Those with a name of their own come before `/jobs/{job_id}`."""
    listing.register()


__all__ = ["register"]

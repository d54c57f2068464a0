"""Items of the job table that are not valid jobs. They are set aside and named, and all other jobs go on.

Other programs write the table too. `read_job` decides what is a job and what is wrong with an item that is none; every reader of the table
goes by it. A `Notices` remembers what a process has come across, so that each item is logged once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from gateleg.jobs.tables.archive import ArchivedJob
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.model import DecodeError, ModelError, spec_of

if TYPE_CHECKING:
    from gateleg.model import Item
    from gateleg.store.unreadable import OnUnreadable, Unreadable

__all__ = ["UnreadableJob", "read_job"]

_log = logging.getLogger("gateleg.jobs")
#: How many items a process remembers.
MAX_NOTICES = 1000
#: Attributes whose bounds limit what Gateleg writes; another program may have written more, such as a longer log.
_UNBOUNDED = {"logs", "attempts", "tags"}


@dataclass(frozen=True)
class UnreadableJob:
    """An item of the job table that is not a valid job."""

    #: the text in the item's key, which may be no UUID
    job_id: str
    #: what is wrong, by attribute
    problems: tuple[str, ...]

    @property
    def reason(self) -> str:
        """What is wrong, in one line."""
        return "; ".join(self.problems)

    @property
    def sentence(self) -> str:
        """Which item it is, and what is wrong."""
        return f"The item of job {self.job_id} is not a valid job: {self.reason}."

    @classmethod
    def of(cls, bad: Unreadable) -> UnreadableJob:
        """The description of an item that the store could not decode."""
        return cls(job_id_of(bad.item), _problems(bad.item, bad.error))


def job_id_of(item: Item) -> str:
    """The id of a job as it is stored."""
    return str(item.get("job_id", {}).get("S", "unknown"))


def _problems(item: Item, error: ModelError) -> tuple[str, ...]:
    found = error.problems if isinstance(error, DecodeError) else ()
    if any(problem.startswith("job_id:") for problem in found):
        # What the decoder says of the characters does not help: the key of an item cannot be corrected.
        found = (_bad_id(job_id_of(item)), *(problem for problem in found if not problem.startswith("job_id:")))
    return tuple(found) or (error.message,)


def _bad_id(job_id: str) -> str:
    proposed = uuid5(NAMESPACE_URL, job_id)
    return f"job_id: {job_id[:60]!r} is not a UUID. Put the job again with one, such as {proposed}, and delete this item"


def read_job(kind: type[Job], item: Item) -> Job | UnreadableJob:
    """The job in an item, or what is wrong with it: an attribute that cannot be read, or a pending job that Gateleg would not accept."""
    spec = spec_of(kind)
    try:
        job = spec.decode(item)
    except ModelError as error:
        return UnreadableJob(job_id_of(item), _problems(item, error))
    problems = ["status is missing"] if "status" not in item else []
    if job_id_of(item) != str(job.job_id):
        problems.append(f"job_id: it is not in the usual form of a UUID. Put the job again as {job.job_id}, and delete this item")
    if job.status == JobStatus.PENDING:
        problems += [f"{name}: {problem}" for name, problem in spec.violations(job).items() if name not in _UNBOUNDED]
    return UnreadableJob(job_id_of(item), tuple(problems)) if problems else job


class Notices:
    """The invalid items that a process has come across."""

    def __init__(self) -> None:
        self._noticed: dict[str, UnreadableJob] = {}
        self._unrecorded: dict[str, UnreadableJob] = {}

    def note(self, bad: UnreadableJob) -> None:
        """Remember an item, and log it the first time."""
        if bad.job_id in self._noticed or len(self._noticed) >= MAX_NOTICES:
            return
        self._noticed[bad.job_id] = self._unrecorded[bad.job_id] = bad
        _log.warning("set aside the item %s of the job table, which is not a valid job: %s", bad.job_id, bad.reason)

    def knows(self, job_id: str) -> bool:
        """Whether the item was noticed."""
        return job_id in self._noticed

    def forget(self, job_id: str) -> None:
        """Forget an item, because it was repaired or deleted. If it is invalid again, it is logged again."""
        self._noticed.pop(job_id, None)
        self._unrecorded.pop(job_id, None)

    @property
    def noticed(self) -> tuple[UnreadableJob, ...]:
        """All noticed items."""
        return tuple(self._noticed.values())

    @property
    def unrecorded(self) -> tuple[UnreadableJob, ...]:
        """The noticed items that the ledger does not have yet."""
        return tuple(self._unrecorded.values())

    def recorded(self, bad: UnreadableJob) -> None:
        """Record that the ledger has the item."""
        self._unrecorded.pop(bad.job_id, None)

    def reporter(self, otherwise: OnUnreadable) -> OnUnreadable:
        """What lists of the queue do with an item that cannot be decoded: jobs are noted, anything else is handled as the store says."""

        def report(bad: Unreadable) -> None:
            if issubclass(bad.ref.entity, Job | ArchivedJob):
                self.note(UnreadableJob.of(bad))
            elif otherwise == "raise":
                raise bad.error
            elif otherwise == "warn":
                _log.warning("skipped an item that cannot be decoded: %s", bad.error)
            else:
                otherwise(bad)

        return report

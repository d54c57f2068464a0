"""Filters of a list of jobs, which are all part of its address. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from gateleg.web.console.badges import BY_STATUS
from gateleg.web.console.paging import address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs import JobStatus

#: States by their names in addresses.
STATUS_WORDS = {badge.word.lower(): status for status, badge in BY_STATUS.items()}
_WORDS = {status: word for word, status in STATUS_WORDS.items()}


@dataclass(frozen=True)
class Filters:
    """Filters of a list of jobs; None matches anything."""

    status: JobStatus | None = None
    type: str | None = None
    queue: str | None = None
    subject: str | None = None
    worker: str | None = None
    tag: str | None = None
    #: "1" to include internal jobs
    internal: str | None = None
    #: where the page starts
    cursor: str | None = None

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Filters:
        """The filters of an address. Unknown values are ignored."""
        given: dict[str, Any] = {
            name: value for one in fields(cls) if (name := one.name) != "status" and (value := query.get(name, "").strip())
        }
        if given.get("internal") != "1":
            given.pop("internal", None)
        return cls(status=STATUS_WORDS.get(query.get("status", "").lower()), **given)

    def state(self) -> dict[str, str | None]:
        """The query of the address."""
        return {
            "status": None if self.status is None else _WORDS[self.status],
            **{one.name: getattr(self, one.name) for one in fields(self) if one.name != "status"},
        }

    def address(self, **changes: Any) -> str:
        """The address of the list with some filters changed; a changed filter starts at the first page."""
        return address("/jobs", replace(self, **{"cursor": None, **changes}).state())

    @property
    def any(self) -> bool:
        """Whether a filter is set."""
        return self != Filters(cursor=self.cursor)

    def arguments(self) -> dict[str, Any]:
        """The filters as arguments of the queue's method."""
        wanted = {"status": self.status, "job_type": self.type, "queue": self.queue, "subject": self.subject}
        return {**wanted, "worker": self.worker, "tag": self.tag, "internal": self.internal == "1"}

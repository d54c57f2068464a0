"""What a list of jobs is narrowed to; the address of the list holds all of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from gateleg.web.console.badges import BY_STATUS
from gateleg.web.console.paging import address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs import JobStatus

#: The states by the words that addresses have for them.
STATUS_WORDS = {badge.word.lower(): status for status, badge in BY_STATUS.items()}
_WORDS = {status: word for word, status in STATUS_WORDS.items()}


@dataclass(frozen=True)
class Filters:
    """What is wanted of a list of jobs; None is anything."""

    status: JobStatus | None = None
    type: str | None = None
    queue: str | None = None
    subject: str | None = None
    worker: str | None = None
    tag: str | None = None
    #: "1" to see internal jobs as well
    internal: str | None = None
    #: where the page begins
    cursor: str | None = None

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Filters:
        """The filters of an address. What it says that there is not is left out."""
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
        """Where the list is, with some filters changed; a changed filter begins at the first page."""
        return address("/jobs", replace(self, **{"cursor": None, **changes}).state())

    @property
    def any(self) -> bool:
        """Whether anything is left out."""
        return self != Filters(cursor=self.cursor)

    def arguments(self) -> dict[str, Any]:
        """The same, as the queue's verb takes it."""
        wanted = {"status": self.status, "job_type": self.type, "queue": self.queue, "subject": self.subject}
        return {**wanted, "worker": self.worker, "tag": self.tag, "internal": self.internal == "1"}

"""Writes that are made for every job: planned by the model once, with marks where the values go, and filled in from then on.

The model's plan says what follows from a write: which index keys change, and what the database must check. For a claim or a completion that
is always the same, and most of the time of making its request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.jobs.tables.job import Job
from gateleg.model import spec_of
from gateleg.model.codec.wire import uuid_text
from gateleg.model.planning import Write
from gateleg.plain import is_plain
from gateleg.store import WriteOperation, get
from gateleg.store.flow import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from uuid import UUID

    from gateleg.model import Ref, Table, Value
    from gateleg.model.planning import Joined
    from gateleg.store.error_translation import Expectation
    from gateleg.store.flow import Flow, Reply
    from gateleg.store.setup import Setup

#: Whether the model plans every claim and completion anew.
PLAIN = is_plain("stencils")


@dataclass(frozen=True, eq=False)
class Stencil:
    """An update of a job without those of its values that differ from job to job."""

    table: Table
    #: the request, with the values that are always the same
    parameters: Mapping[str, Any]
    #: for placeholders the names of the values that go there; all others stay
    places: tuple[tuple[str, str], ...]

    @classmethod
    def cut(cls, example: Write[Job], marks: Mapping[str, Value]) -> Stencil:
        """The stencil of an update that was planned with marks for values. Each must differ from everything else in the plan."""
        values = example.parameters["ExpressionAttributeValues"]
        places = tuple((placeholder, name) for placeholder, value in values.items() for name, mark in marks.items() if value == mark)
        missed = marks.keys() - {name for _, name in places}
        if missed or not example.alone:
            raise ValueError(f"The plan has no place for {sorted(missed)}, or more than one write.")
        return cls(example.table, example.request(), places)

    def filled(self, job_id: UUID, given: Mapping[str, Value]) -> dict[str, Any]:
        """The request of the update, by the table's own name."""
        values = dict(self.parameters["ExpressionAttributeValues"])
        for placeholder, name in self.places:
            values[placeholder] = given[name]
        return {**self.parameters, "Key": {"job_id": {"S": uuid_text(job_id)}}, "ExpressionAttributeValues": values}


@dataclass(slots=True)
class Stencilled(WriteOperation[Job]):
    """A write by a stencil. `plan` makes the same write without it, to explain a refusal; `becomes` the result, where it is known."""

    #: the class of jobs in the queue's tables
    kind: type[Job]
    stencil: Stencil
    job_id: UUID
    values: Mapping[str, Value]
    plan: Callable[[], WriteOperation[Job]]
    becomes: Callable[[], Job] | None = None

    @property
    def entity(self) -> type[Job]:
        """A job."""
        return self.kind

    @property
    def ref(self) -> Ref[Job]:
        """The job's."""
        return self.kind.key(job_id=self.job_id)

    @property
    def verb(self) -> str:
        """patch."""
        return "patch"

    def write(self, now: datetime, joined: Joined | None = None) -> Write[Job]:
        """An UpdateItem; that of the plan where a transaction asks more of the job."""
        if joined is not None:
            return self.plan().write(now, joined)
        parameters = self.stencil.filled(self.job_id, self.values)
        del parameters["TableName"]
        return Write(self.kind, self.stencil.table, "Update", parameters, purpose="patch Job")

    def start(self, setup: Setup) -> Request:
        """One request. What a plan would add to it by itself is among the values."""
        payload = self.stencil.filled(self.job_id, self.values)
        payload["TableName"] = setup.name_of(self.stencil.table)
        payload["ReturnValues"] = "ALL_NEW" if self.becomes is None else "NONE"
        return Request("UpdateItem", payload, "Job.patch", stencil=(self.stencil, self.becomes is None))

    def expectation(self) -> Expectation:
        """That of the plan."""
        return self.plan().expectation()

    def options(self, write: Write[Any]) -> dict[str, Any]:
        """The job as it is then, unless that is known."""
        return {"ReturnValues": "ALL_NEW" if self.becomes is None else "NONE"}

    def finish(self, request: Request, reply: Reply, setup: Setup) -> Job:
        """The job as it is now."""
        return spec_of(self.kind).decode(reply["Attributes"]) if self.becomes is None else self.becomes()

    def after(self, write: Write[Any], setup: Setup) -> Flow[Job]:
        """The job, read again."""
        return get(self.kind, job_id=self.job_id, consistent=True).flow(setup)

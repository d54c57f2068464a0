"""Use cases: usage by day, agent, user and model. Members see their own; viewers and above see the whole tenant's.

All sums are of calls in the host's ledger (`gateleg.ai.ModelCall`), and are written in the transaction that ends a call there: a run's
cost, the usage of its tenant and the host's usage agree, whatever happens to the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, Literal

import orjson

from gateleg.ai import Account
from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.thread_tables import Run
from gateleg.apps.agents.usage_tables import DailyUsage
from gateleg.store import patch, upsert

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.ai import AsyncModels, ModelCall
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.model import Query, Ref, UpdateAction
    from gateleg.store import AsyncStore, WriteOperation

__all__ = [
    "ANSWERING",
    "GROUPS",
    "JUDGING",
    "PLANNING",
    "SUMMARISING",
    "CallRecord",
    "Group",
    "Summary",
    "UsageSum",
    "billed_to",
    "summarise_usage",
    "usage_question",
]

Group = Literal["day", "agent", "user", "model"]
GROUPS: tuple[Group, ...] = ("day", "agent", "user", "model")
#: Why a model is called.
ANSWERING, PLANNING, SUMMARISING, JUDGING = "answer", "plan", "summary", "evaluation"
#: The label of a run's first call.
_FIRST = "first"
#: The agent and owner of calls that belong to none.
HOST = "-"
#: Maximum days of one query, and maximum rows of a summary.
LONGEST, MOST_ROWS = 366, 10_000


@dataclass
class CallRecord:
    """Adds calls to their run and to the daily usage, in the transactions that end them in the host's ledger."""

    #: whether the next call that ends with a reply is the first one of its run
    first: bool = False
    #: number of calls that have ended since this was made
    ended: int = 0

    def __call__(self, call: ModelCall) -> list[WriteOperation[Any]]:
        """The writes for a call that has ended."""
        self.ended += 1
        if call.status not in ("answered", "unknown"):
            return []
        self.first = False
        return record_call(call)


def billed_to(
    resources: Resources[AgentsSettings], partition: Partition, purpose: str, *, run: Run | None = None, record: CallRecord | None = None
) -> AsyncModels:
    """The host's models, with calls recorded for a tenant and, with a run, for the run."""
    kept = record or CallRecord()
    place = {"endpoint_id": partition.endpoint_id, "part_id": partition.part_id}
    if run is not None:
        named = {name: getattr(run, name) for name in ("agent_uuid", "owner_id", "user_id", "thread_uuid", "run_uuid")}
        place |= {name: value for name, value in named.items() if value is not None}

    def labels() -> dict[str, str]:
        return place | {_FIRST: "true"} if kept.first else place

    subject = None if run is None else run.run_uuid
    return resources.models.billed_to(Account(resources.application, partition.part_id, subject, purpose, labels, kept))


async def settle_lost(resources: Resources[AgentsSettings]) -> int:
    """End the calls of models whose worker was killed and whose run nobody answers again; returns their number."""
    return await resources.models.billed_to(Account(resources.application, record=CallRecord())).settle_lost()


def record_call(call: ModelCall) -> list[WriteOperation[Any]]:
    """The writes that add a call to the daily usage and to its run."""
    partition = Partition(endpoint_id=call.labels["endpoint_id"], part_id=call.labels["part_id"])
    agent_uuid, owner_id, user_id = (call.labels.get(name) for name in ("agent_uuid", "owner_id", "user_id"))
    kept = call.model[:200]
    named = orjson.dumps([agent_uuid, owner_id, user_id, kept])
    counts: dict[Any, int | Decimal] = {
        DailyUsage.runs: int(_FIRST in call.labels),
        DailyUsage.replies: 1,
        DailyUsage.estimated: int(call.estimated),
        DailyUsage.unpriced: int(call.cost is None),
        DailyUsage.prompt_tokens: call.input,
        DailyUsage.completion_tokens: call.output,
        DailyUsage.cost: call.cost or Decimal(0),
    }
    daily: WriteOperation[Any] = upsert(
        DailyUsage,
        DailyUsage.agent_uuid.set(agent_uuid or HOST),
        DailyUsage.owner_id.set(owner_id or HOST),
        *([] if user_id is None else [DailyUsage.user_id.set(user_id)]),
        DailyUsage.model.set(kept),
        *(attribute.add(amount) for attribute, amount in counts.items()),
        partition=partition,
        day=date.fromisoformat(call.day),
        slot=blake2s(named, digest_size=12).hexdigest(),
    )
    if "run_uuid" not in call.labels:
        return [daily]
    return [daily, patch(_run_of(partition, call), *_run_changes(call), returning="none")]


def _run_of(partition: Partition, call: ModelCall) -> Ref[Run]:
    return Run.key(partition=partition, thread_uuid=call.labels["thread_uuid"], run_uuid=call.labels["run_uuid"])


def _run_changes(call: ModelCall) -> list[UpdateAction]:
    """The additions of a call to its run. The planner compares texts: its tokens are not those of the model."""
    changes: list[UpdateAction] = []
    if call.purpose != PLANNING:
        changes += [
            Run.prompt_tokens.add(call.input),
            Run.completion_tokens.add(call.output),
            Run.total_tokens.add(call.input + call.output),
        ]
    if call.purpose == ANSWERING:
        changes.append(Run.model.set(call.model[:200]))
    if call.estimated:
        changes.append(Run.usage_estimated.set(True))
    return [*changes, Run.unpriced_calls.add(1) if call.cost is None else Run.cost.add(call.cost)]


def usage_question(context: Context, since: date, until: date) -> Query[DailyUsage]:
    """The query for the usage of a range of days that the caller may see, newest first. Raises `BadField`."""
    days = (until - since).days + 1
    if not 1 <= days <= LONGEST:
        raise BadField(
            f"The range from {since} to {until} has {days} days.", fix=f"Choose a first and a last day, at most {LONGEST} days apart."
        )
    bounds = DailyUsage.day.between(since, until)
    if context.sees_all:
        return DailyUsage.by_day(partition=context.partition).where(bounds)
    return DailyUsage.of_owner(partition=context.partition, owner_id=context.owner).where(bounds)


@dataclass
class UsageSum:
    """The sum of usage rows."""

    runs: int = 0
    replies: int = 0
    estimated: int = 0
    unpriced: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal = Decimal(0)

    def add(self, row: DailyUsage) -> None:
        """Add a row."""
        for name in ("runs", "replies", "estimated", "unpriced", "prompt_tokens", "completion_tokens", "cost"):
            setattr(self, name, getattr(self, name) + getattr(row, name))


@dataclass(frozen=True)
class Summary:
    """Usage by group and in total. `complete` is False if older rows were left out because there were too many."""

    groups: dict[str, UsageSum]
    total: UsageSum
    complete: bool


async def summarise_usage(store: AsyncStore, context: Context, by: Group, since: date, until: date) -> Summary:
    """Summarise the usage of a range of days by day, agent, user or model."""
    rows = [row async for row in store.query(usage_question(context, since, until), limit=MOST_ROWS + 1)]
    return add_up(rows[:MOST_ROWS], by, complete=len(rows) <= MOST_ROWS)


def add_up(rows: Iterable[DailyUsage], by: Group, *, complete: bool = True) -> Summary:
    """Sum rows by group, in order of first appearance. Pure."""
    groups: dict[str, UsageSum] = {}
    total = UsageSum()
    for row in rows:
        groups.setdefault(_key(row, by), UsageSum()).add(row)
        total.add(row)
    return Summary(groups, total, complete)


def _key(row: DailyUsage, by: Group) -> str:
    match by:
        case "day":
            return f"{row.day}"
        case "agent":
            return row.agent_uuid
        case "user":
            return row.user_id or row.owner_id
        case "model":
            return row.model

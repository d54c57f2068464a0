"""Use cases: usage by day, agent, user and model. Members see their own; viewers and above see the whole tenant's."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, Literal

import orjson

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.usage_tables import DailyUsage
from gateleg.store import upsert

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from gateleg.ai import Usage
    from gateleg.apps.agents.tenancy import Context
    from gateleg.apps.agents.thread_tables import Run
    from gateleg.model import Query
    from gateleg.store import AsyncStore, WriteOperation

__all__ = ["GROUPS", "Group", "Summary", "UsageSum", "record_usage", "summarise_usage", "usage_question"]

Group = Literal["day", "agent", "user", "model"]
GROUPS: tuple[Group, ...] = ("day", "agent", "user", "model")
#: Maximum days of one query, and maximum rows of a summary.
LONGEST, MOST_ROWS = 366, 10_000


def record_usage(run: Run, day: date, model: str, usage: Usage, *, broken: bool = False) -> WriteOperation[Any]:
    """The write that adds a reply to the daily usage, for the transaction that stores it. `broken` marks an interrupted reply."""
    kept = model[:200]
    named = orjson.dumps([run.agent_uuid, run.owner_id, run.user_id, kept])
    counts: dict[Any, int | Decimal] = {
        DailyUsage.runs: int(run.model is None),
        DailyUsage.replies: 1,
        DailyUsage.estimated: int(broken or usage.estimated),
        DailyUsage.unpriced: int(usage.cost is None),
        DailyUsage.prompt_tokens: usage.input,
        DailyUsage.completion_tokens: usage.output,
        DailyUsage.cost: usage.cost or Decimal(0),
    }
    return upsert(
        DailyUsage,
        DailyUsage.agent_uuid.set(run.agent_uuid or ""),
        DailyUsage.owner_id.set(run.owner_id),
        *([] if run.user_id is None else [DailyUsage.user_id.set(run.user_id)]),
        DailyUsage.model.set(kept),
        *(attribute.add(amount) for attribute, amount in counts.items()),
        partition=run.partition,
        day=day,
        slot=blake2s(named, digest_size=12).hexdigest(),
    )


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

"""Daily usage of a tenant by agent, user and model. Rows are only added to, in the transactions that end calls of models."""

from datetime import date, datetime
from decimal import Decimal

from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import MAX_NAME_LENGTH, identifier
from gateleg.model import LSI, Attr, Entity, Key, Pattern, Table, field, required, stamp

usage = Table("aace-usage", hash="partition_key", range="usage_key", indexes=[LSI("owner-index", range="owner_day")])
USAGE_TABLES = (usage,)


class DailyUsage(Entity, table=usage):
    """One day's usage of one model by one user of one agent."""

    partition: Attr[Partition] = required(name="partition_key")
    #: in UTC
    day: Attr[date]
    #: digest of agent, owner, end user and model, whose names may exceed a key's size
    slot: Attr[str] = identifier()
    agent_uuid: Attr[str] = identifier()
    #: the caller (`Context.owner`)
    owner_id: Attr[str] = required()
    #: the end user, as the caller named them
    user_id: Attr[str | None] = field(None)
    model: Attr[str] = required(max_length=MAX_NAME_LENGTH)
    #: number of runs whose first reply is counted here
    runs: Attr[int] = field(0, ge=0)
    replies: Attr[int] = field(0, ge=0)
    #: number of replies that broke off, or whose tokens the provider did not report: they are estimates
    estimated: Attr[int] = field(0, ge=0)
    #: number of replies without a known price, which `cost` does not include
    unpriced: Attr[int] = field(0, ge=0)
    prompt_tokens: Attr[int] = field(0, ge=0)
    completion_tokens: Attr[int] = field(0, ge=0)
    #: US dollars
    cost: Attr[Decimal] = field(Decimal(0), ge=0)
    updated_at: Attr[datetime] = stamp(on="write")

    key = Key("{partition}", "{day}#{slot}")
    owner_key = Key("{partition}", "{owner_id}#{day}#{slot}", index="owner-index")
    by_day = Pattern(title="The usage of a tenant, newest day first", order="desc")
    of_owner = Pattern("owner-index", by=("partition", "owner_id"), title="The usage of a user, newest day first", order="desc")

"""What the runs of a tenant have used in a day, by agent, user and model. Only ever added to, in the transactions that store replies."""

from datetime import date, datetime
from decimal import Decimal

from gateleg.apps.agents.tables import NAME, identifier
from gateleg.apps.agents.tenancy import Partition
from gateleg.model import LSI, Attr, Entity, Key, Pattern, Table, field, required, stamp

usage = Table("aace-usage", hash="partition_key", range="usage_key", indexes=[LSI("owner-index", range="owner_day")])
USAGE_TABLES = (usage,)


class DailyUsage(Entity, table=usage):
    """The replies of one model to one user of one agent in a day."""

    partition: Attr[Partition] = required(name="partition_key")
    #: in UTC
    day: Attr[date]
    #: a digest of agent, owner, end user and model: their names may be longer than a key
    slot: Attr[str] = identifier()
    agent_uuid: Attr[str] = identifier()
    #: the caller who asked, `Context.owner`
    owner_id: Attr[str] = required()
    #: the end user, as the caller named them
    user_id: Attr[str | None] = field(None)
    model: Attr[str] = required(max_length=NAME)
    #: runs whose first reply is among these
    runs: Attr[int] = field(0, ge=0)
    replies: Attr[int] = field(0, ge=0)
    #: replies among them that were broken off: their tokens are estimates
    estimated: Attr[int] = field(0, ge=0)
    #: replies among them that no price is known for: `cost` is without them
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

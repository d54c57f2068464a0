"""Tables of models: cached replies and vectors, usage, spending and media jobs."""

from datetime import datetime
from decimal import Decimal

from gateleg.ai.media import MediaKind, MediaStatus
from gateleg.model import GSI, TTL, Attr, Entity, Key, Pattern, Table, field, required, stamp

__all__ = ["MODEL_TABLES", "UsageDay", "cache_table", "media_table", "usage_table"]

cache_table = Table("GatelegModelCache", hash="digest")
media_table = Table("GatelegMediaJobs", hash="token")
usage_table = Table(
    "GatelegModelUsage",
    hash="pk",
    range="sk",
    tag="kind",
    indexes=[GSI("ApplicationIndex", hash="application", range="day"), GSI("TenantIndex", hash="tenant", range="day")],
)


class CachedResult(Entity, table=cache_table):
    """A cached result: a vector as little-endian float32, or a reply as compressed JSON."""

    #: SHA-256 of the model's address and the whole request
    digest: Attr[str]
    model: Attr[str]
    content: Attr[bytes]
    created_at: Attr[datetime] = stamp(on="create")
    expires_at: Attr[TTL | None] = field(None)

    key = Key("{digest}")


class UsageDay(Entity, table=usage_table, tag="usage"):
    """One application's usage of one model in a day, for one tenant or none. Only ever added to."""

    #: in UTC, such as 2026-11-15
    day: Attr[str] = required(pattern=r"^\d{4}-\d{2}-\d{2}$")
    #: application, tenant and model as a JSON list, so that the id is unambiguous
    slot: Attr[str]
    application: Attr[str]
    tenant: Attr[str | None] = field(None)
    model: Attr[str]
    calls: Attr[int] = field(0)
    #: number of failed calls, which cost nothing
    failed: Attr[int] = field(0)
    #: number of calls without a known price; `cost` excludes them
    unpriced: Attr[int] = field(0)
    #: number of calls that broke off or whose usage the provider did not report: their tokens and cost are estimates
    estimated: Attr[int] = field(0)
    input: Attr[int] = field(0)
    output: Attr[int] = field(0)
    cached: Attr[int] = field(0)
    requests: Attr[int] = field(0)
    images: Attr[int] = field(0)
    seconds: Attr[Decimal] = field(Decimal(0))
    cost: Attr[Decimal] = field(Decimal(0))
    expires_at: Attr[TTL | None] = field(None)

    key = Key("DAY#{day}", "{slot}")
    of_day = Pattern(title="Usage of a day, for all applications and tenants")
    of_application = Pattern("ApplicationIndex", title="Usage of an application, by day", order="desc")
    of_tenant = Pattern("TenantIndex", title="Usage of a tenant, by day", order="desc")


class Spend(Entity, table=usage_table, tag="spend"):
    """The amount spent under a cap in a day, including the reservations of running calls."""

    #: `application/` or `tenant/` and its URL-quoted name, because a tenant's name may contain anything
    scope: Attr[str]
    day: Attr[str] = required(pattern=r"^\d{4}-\d{2}-\d{2}$")
    committed: Attr[Decimal] = field(Decimal(0))
    expires_at: Attr[TTL | None] = field(None)

    key = Key("SPEND#{scope}", "{day}")


class MediaRecord(Entity, table=media_table):
    """A media job, by the token that it was submitted under."""

    #: the application and the token
    token: Attr[str]
    model: Attr[str]
    kind: Attr[MediaKind]
    #: digest of the request: a token belongs to one request
    digest: Attr[str]
    status: Attr[MediaStatus] = field("submitting")
    #: the provider's id of the job
    provider_id: Attr[str | None] = field(None)
    #: where the outputs are; providers keep them for hours or days
    urls: Attr[list[str]] = field(factory=list)
    media_types: Attr[list[str]] = field(factory=list)
    reason: Attr[str] = field("")
    #: estimated usage and cost, and the caps that this is reserved under
    images: Attr[int] = field(0)
    seconds: Attr[Decimal] = field(Decimal(0))
    cost: Attr[Decimal | None] = field(None)
    scopes: Attr[list[str]] = field(factory=list)
    submitted_at: Attr[datetime | None] = field(None)
    created_at: Attr[datetime] = stamp(on="create")
    expires_at: Attr[TTL | None] = field(None)

    key = Key("{token}")


#: All tables of models.
MODEL_TABLES = (cache_table, usage_table, media_table)

"""The tables of models: the cache of answers, and what models have been used for."""

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


class Remembered(Entity, table=cache_table):
    """One answer: a vector as little-endian float32, or a reply as compressed JSON."""

    #: SHA-256 of the model's address and all that was asked
    digest: Attr[str]
    model: Attr[str]
    content: Attr[bytes]
    created_at: Attr[datetime] = stamp(on="create")
    expires_at: Attr[TTL | None] = field(None)

    key = Key("{digest}")


class UsageDay(Entity, table=usage_table, tag="usage"):
    """What one application has used of one model in a day, for one tenant or for none. Only ever added to."""

    #: in UTC, such as 2026-11-15
    day: Attr[str] = required(pattern=r"^\d{4}-\d{2}-\d{2}$")
    #: application, tenant and model as a JSON list, so that no two read the same
    slot: Attr[str]
    application: Attr[str]
    tenant: Attr[str | None] = field(None)
    model: Attr[str]
    calls: Attr[int] = field(0)
    #: calls among them that failed, and cost nothing
    failed: Attr[int] = field(0)
    #: calls among them that no price is known for: `cost` is without them
    unpriced: Attr[int] = field(0)
    #: calls among them that broke off, or whose provider did not say what they used: their tokens and cost are estimates
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
    of_day = Pattern(title="The usage of a day, of all applications and tenants")
    of_application = Pattern("ApplicationIndex", title="The usage of an application, by day", order="desc")
    of_tenant = Pattern("TenantIndex", title="The usage of a tenant, by day", order="desc")


class Spend(Entity, table=usage_table, tag="spend"):
    """What has been spent under a cap in a day, with what calls that are running have reserved."""

    #: `application/` or `tenant/` and its name, as in a URL: a tenant's name may hold anything
    scope: Attr[str]
    day: Attr[str] = required(pattern=r"^\d{4}-\d{2}-\d{2}$")
    committed: Attr[Decimal] = field(Decimal(0))
    expires_at: Attr[TTL | None] = field(None)

    key = Key("SPEND#{scope}", "{day}")


class MediaRecord(Entity, table=media_table):
    """A job of a provider of media, by the token that it was submitted under."""

    #: the application and the token
    token: Attr[str]
    model: Attr[str]
    kind: Attr[MediaKind]
    #: of the request: a token is for one only
    digest: Attr[str]
    status: Attr[MediaStatus] = field("submitting")
    #: the provider's name for it
    provider_id: Attr[str | None] = field(None)
    #: where what was made is; providers keep it for hours or days
    urls: Attr[list[str]] = field(factory=list)
    media_types: Attr[list[str]] = field(factory=list)
    reason: Attr[str] = field("")
    #: what it was estimated to use and to cost, and the caps that this is reserved under
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

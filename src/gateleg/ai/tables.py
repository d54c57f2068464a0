"""Tables of models: cached replies and vectors, usage, spending and media jobs."""

from datetime import datetime
from decimal import Decimal
from typing import Literal

from gateleg.model import GSI, TTL, Attr, Entity, Key, Pattern, Table, field, required, stamp

__all__ = ["MODEL_TABLES", "ModelCall", "UsageDay", "cache_table", "calls_table", "media_table", "usage_table"]

#: What to generate: images, video, speech, or a video whose lips follow a recording.
MediaKind = Literal["image", "video", "speech", "lip-sync"]
#: `submitting`: the provider may or may not have it. `refused`: it violates the provider's content policy and is never sent again.
MediaStatus = Literal["submitting", "running", "succeeded", "failed", "refused"]

cache_table = Table("GatelegModelCache", hash="digest")
media_table = Table("GatelegMediaJobs", hash="token")
calls_table = Table("GatelegModelCalls", hash="subject", range="call_id", indexes=[GSI("OpenIndex", hash="open_key", range="opened_at")])
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


class ModelCall(Entity, table=calls_table):
    """One call of a model: the ledger. The sums of days, and those that applications keep, are written in the same transaction.

    Open while it is made, with what it may use at most; then with what it has used. It is never open twice, and ends once.
    """

    #: application, tenant and what the call was for, such as a run; without that, the day
    subject: Attr[str]
    call_id: Attr[str]
    #: in UTC, such as 2026-11-15
    day: Attr[str]
    application: Attr[str]
    tenant: Attr[str | None] = field(None)
    model: Attr[str]
    #: why the application made it, such as `answer` or `summary`
    purpose: Attr[str] = field("")
    #: what else the application says about it
    labels: Attr[dict[str, str]] = field(factory=dict)
    #: whether the application keeps sums of its own, and so ends it itself if its process was killed
    summed: Attr[bool] = field(False)
    #: with a reply; without one, at no cost; with unknown cost, so that the numbers are estimates; or never made
    status: Attr[Literal["open", "answered", "failed", "unknown", "refused"]] = field("open")
    input: Attr[int] = field(0)
    output: Attr[int] = field(0)
    cached: Attr[int] = field(0)
    requests: Attr[int] = field(0)
    images: Attr[int] = field(0)
    seconds: Attr[Decimal] = field(Decimal(0))
    #: None without a known price
    cost: Attr[Decimal | None] = field(None)
    #: whether the provider did not report the numbers
    estimated: Attr[bool] = field(False)
    #: the caps that it counts against, with the cost that is reserved under each
    scopes: Attr[list[str]] = field(factory=list)
    reserved: Attr[Decimal | None] = field(None)
    opened_at: Attr[datetime]
    ended_at: Attr[datetime | None] = field(None)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("{subject}", "{call_id}")
    open_key = Key("open", "{opened_at}", index="OpenIndex", when={"status": ["open"]})
    of_subject = Pattern(title="The calls for one subject, latest first", order="desc")
    unfinished = Pattern("OpenIndex", title="Calls that have not ended, oldest first")


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
MODEL_TABLES = (cache_table, calls_table, usage_table, media_table)

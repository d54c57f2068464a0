"""The tables of the host: API keys, sessions of the console, the audit log, secrets, uploads, webhooks and watches."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from gateleg.model import GSI, TTL, Attr, Entity, Key, Pattern, Table, field, new_uuid, required

access_table = Table("GatelegAccess", hash="pk", range="sk", tag="kind")
audit_table = Table(
    "GatelegAudit",
    hash="pk",
    range="sk",
    indexes=[GSI("ActorIndex", hash="actor", range="at")],
)
secrets_table = Table("GatelegSecrets", hash="pk", range="sk")
uploads_table = Table("GatelegUploads", hash="pk", range="sk")
webhooks_table = Table("GatelegWebhooks", hash="pk", range="sk", tag="kind")
watches_table = Table("GatelegWatches", hash="pk", range="sk", tag="kind")


class ApiKey(Entity, table=access_table, tag="key"):
    """A key that callers show. Only a digest of its secret is kept."""

    key_id: Attr[str]
    name: Attr[str] = required(min_length=1, max_length=100)
    #: the SHA-256 digest of the secret, which has 256 bits of chance: nobody can try them all
    digest: Attr[str] = required(hidden=True)
    role: Attr[Literal["member", "viewer", "operator", "admin"]]
    groups: Attr[set[str] | None] = field(None, max_length=100)
    tenant: Attr[str | None] = field(None)
    created_at: Attr[datetime]
    created_by: Attr[str]
    #: not accepted from then on
    ends_at: Attr[datetime | None] = field(None)
    revoked_at: Attr[datetime | None] = field(None)
    revoked_by: Attr[str | None] = field(None)
    #: to within some minutes
    used_at: Attr[datetime | None] = field(None)
    #: sessions that began before are over
    sessions_from: Attr[datetime | None] = field(None)

    key = Key("KEYS", "KEY#{key_id}")
    every = Pattern(title="All API keys")


class Session(Entity, table=access_table, tag="session"):
    """Somebody who has signed in with a key. Only a digest of what the browser holds is kept."""

    digest: Attr[str] = required(hidden=True)
    key_id: Attr[str]
    created_at: Attr[datetime]
    #: to within a minute
    seen_at: Attr[datetime]
    ends_at: Attr[datetime]
    expires_at: Attr[TTL]

    key = Key("SESSION#{digest}", "SESSION")


class AuditEntry(Entity, table=audit_table):
    """Something that somebody changed, or tried to."""

    entry_id: Attr[UUID] = new_uuid()
    #: the day in UTC, such as 2026-11-15
    day: Attr[str] = required(pattern=r"^\d{4}-\d{2}-\d{2}$")
    at: Attr[datetime]
    #: the name of the key, or `local`
    actor: Attr[str]
    key_id: Attr[str | None] = field(None)
    #: what was done, such as `job.cancel`
    action: Attr[str]
    #: what it was done to
    target: Attr[str] = field("")
    details: Attr[dict[str, Any]] = field(factory=dict)
    request_id: Attr[str | None] = field(None)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("DAY#{day}", "{at}#{entry_id}")
    by_day = Pattern(title="What was done on a day, newest first", order="desc")
    by_actor = Pattern("ActorIndex", title="The actions of an actor, newest first", order="desc")


class StoredSecret(Entity, table=secrets_table):
    """A secret of an application, or of one of its tenants, encrypted."""

    application: Attr[str]
    #: `-` for the application itself, or `=` and the tenant's name, percent-encoded
    tenant: Attr[str]
    name: Attr[str]
    #: the ciphertext in base64
    sealed: Attr[str] = required(hidden=True)
    version: Attr[int]
    created_at: Attr[datetime]
    changed_at: Attr[datetime]
    changed_by: Attr[str] = field("")

    key = Key("APPLICATION#{application}", "TENANT#{tenant}#SECRET#{name}")
    of_application = Pattern(title="The secrets of an application and all its tenants")
    of_tenant = Pattern(by=("application", "tenant"), title="The secrets of a tenant")


class PendingUpload(Entity, table=uploads_table):
    """A file that is being uploaded in parts, or straight to the object store; kept for a day when it has arrived."""

    application: Attr[str]
    upload_id: Attr[str]
    #: which of the application's kinds of upload it is
    kind: Attr[str]
    #: who began it: the id of a key, or a name
    owner: Attr[str]
    #: the name of who began it, which the job of the file has
    created_by: Attr[str | None] = field(None)
    tenant: Attr[str | None] = field(None)
    #: parts come through the host; otherwise the client writes the object itself
    in_parts: Attr[bool]
    object_key: Attr[str]
    name: Attr[str]
    #: the bytes that it has; for an object that the client writes, those that it may have at most
    length: Attr[int]
    received: Attr[int] = field(0)
    parts: Attr[list[str]] = field(factory=list, max_length=5_000)
    details: Attr[dict[str, str]] = field(factory=dict)
    sha256: Attr[str | None] = field(None)
    content_type: Attr[str | None] = field(None)
    created_at: Attr[datetime]
    touched_at: Attr[datetime]
    finished_at: Attr[datetime | None] = field(None)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("APPLICATION#{application}", "UPLOAD#{upload_id}")
    of_application = Pattern(title="The uploads of an application")


class Webhook(Entity, table=webhooks_table, tag="webhook"):
    """An address that events of an application are sent to: those of a tenant, or of one owner within it."""

    application: Attr[str]
    #: `-` for the application itself, or `=` and the tenant's name, percent-encoded; `@` and the owner follow, if there is one
    tenant: Attr[str]
    hook_id: Attr[str]
    url: Attr[str] = required(max_length=2_000)
    #: names of events; `*` for all, `video.*` for those that begin like this
    events: Attr[list[str]]
    #: the name of the secret that deliveries are signed with
    secret: Attr[str]
    enabled: Attr[bool] = field(True)
    created_at: Attr[datetime]
    created_by: Attr[str] = field("")

    key = Key("APPLICATION#{application}#TENANT#{tenant}", "WEBHOOK#{hook_id}")
    of_tenant = Pattern(title="The webhooks of a tenant")


class WebhookDelivery(Entity, table=webhooks_table, tag="delivery"):
    """An event on its way to a webhook, and what became of it. Kept for 30 days."""

    application: Attr[str]
    tenant: Attr[str]
    #: begins with the time, so that the order of ids is that of events
    delivery_id: Attr[str]
    hook_id: Attr[str]
    event: Attr[str]
    body: Attr[str] = required(hidden=True, max_length=200_000)
    state: Attr[Literal["pending", "delivered", "failed"]] = field("pending")
    attempts: Attr[int] = field(0)
    #: the HTTP status of the last answer
    answered: Attr[int | None] = field(None)
    #: the beginning of the last answer, or why there was none
    answer: Attr[str] = field("")
    created_at: Attr[datetime]
    tried_at: Attr[datetime | None] = field(None)
    expires_at: Attr[TTL]

    key = Key("APPLICATION#{application}#TENANT#{tenant}", "DELIVERY#{delivery_id}")
    of_tenant = Pattern(title="The deliveries of a tenant's webhooks, newest first", order="desc")


class WatchPlace(Entity, table=watches_table, tag="place"):
    """Where a watch goes on, which reads a few pages of a listing at a time."""

    watch: Attr[str]
    #: the cursor of the listing, and the last key before it; none at the beginning
    cursor: Attr[str | None] = field(None)
    after: Attr[str | None] = field(None)
    #: how often the whole listing has been read
    rounds: Attr[int] = field(0)

    key = Key("PLACE#{watch}", "PLACE")


class SeenObject(Entity, table=watches_table, tag="seen"):
    """An object that a watch has seen, as it was then."""

    watch: Attr[str]
    object_key: Attr[str]
    etag: Attr[str]
    size: Attr[int]

    key = Key("WATCH#{watch}", "{object_key}")
    of_watch = Pattern(title="The objects that a watch has seen, in the order of their keys")


#: All tables of the host.
TABLES = (access_table, audit_table, secrets_table, uploads_table, webhooks_table, watches_table)

"""The tables of the host: API keys, sessions of the console, the audit log, secrets, uploads, webhooks and watches."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from gateleg.model import GSI, TTL, Attr, Entity, Key, Pattern, Table, field, new_uuid, required

__all__ = ["TABLES", "ApiKey", "AuditEntry", "PendingUpload", "Webhook", "WebhookDelivery"]

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
    """An API key. Only a digest of its secret is stored."""

    key_id: Attr[str]
    name: Attr[str] = required(min_length=1, max_length=100)
    #: the SHA-256 digest of the secret, which has 256 random bits: too many to try
    digest: Attr[str] = required(hidden=True)
    role: Attr[Literal["member", "viewer", "operator", "admin"]]
    groups: Attr[set[str] | None] = field(None, max_length=100)
    tenant: Attr[str | None] = field(None)
    created_at: Attr[datetime]
    created_by: Attr[str]
    #: when it expires
    ends_at: Attr[datetime | None] = field(None)
    revoked_at: Attr[datetime | None] = field(None)
    revoked_by: Attr[str | None] = field(None)
    #: accurate to some minutes
    used_at: Attr[datetime | None] = field(None)
    #: sessions that were started earlier are invalid
    sessions_from: Attr[datetime | None] = field(None)

    key = Key("KEYS", "KEY#{key_id}")
    every = Pattern(title="All API keys")


class Session(Entity, table=access_table, tag="session"):
    """A session of a browser. Only a digest of its cookie is stored."""

    digest: Attr[str] = required(hidden=True)
    #: of the key that it was started with; of a person who signed in by OpenID Connect, `openid:` and a digest
    key_id: Attr[str]
    #: the name of its entry in the list of sessions; those of earlier releases are not listed
    name: Attr[str | None] = field(None)
    #: the person, as the settings made them of their claims when they signed in; of a key, its own values count
    person: Attr[dict[str, Any] | None] = field(None)
    #: the encrypted ID token, which names the person's session at the provider
    id_token: Attr[str | None] = field(None, hidden=True)
    created_at: Attr[datetime]
    #: accurate to a minute
    seen_at: Attr[datetime]
    ends_at: Attr[datetime]
    expires_at: Attr[TTL]

    key = Key("SESSION#{digest}", "SESSION")


class SessionEntry(Entity, table=access_table, tag="session-entry"):
    """The entry of a session in the list of all, written and deleted together with it."""

    key_id: Attr[str]
    name: Attr[str]
    digest: Attr[str] = required(hidden=True)
    #: the browser, as it names itself
    browser: Attr[str] = field("")
    created_at: Attr[datetime]
    ends_at: Attr[datetime]
    expires_at: Attr[TTL]

    key = Key("SESSIONS", "KEY#{key_id}#SESSION#{name}")
    every = Pattern(title="All sessions, by the key or person that started them")
    of_key = Pattern(by=("key_id",), title="The sessions of a key or person")


class AuditEntry(Entity, table=audit_table):
    """A change, or an attempt of one, by a caller."""

    entry_id: Attr[UUID] = new_uuid()
    #: the day in UTC, such as 2026-11-15
    day: Attr[str] = required(pattern=r"^\d{4}-\d{2}-\d{2}$")
    at: Attr[datetime]
    #: the name of the key, or `local`
    actor: Attr[str]
    key_id: Attr[str | None] = field(None)
    #: the action, such as `job.cancel`
    action: Attr[str]
    #: what was changed
    target: Attr[str] = field("")
    details: Attr[dict[str, Any]] = field(factory=dict)
    request_id: Attr[str | None] = field(None)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("DAY#{day}", "{at}#{entry_id}")
    by_day = Pattern(title="The entries of a day, newest first", order="desc")
    by_actor = Pattern("ActorIndex", title="The entries of an actor, newest first", order="desc")


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
    """A file that is being uploaded in parts, or straight to the object store; kept for a day after it is complete."""

    application: Attr[str]
    upload_id: Attr[str]
    #: the kind of upload, as declared by the application
    kind: Attr[str]
    #: the uploader: the id of a key, or a name
    owner: Attr[str]
    #: the name of the uploader, which becomes the owner of the job
    created_by: Attr[str | None] = field(None)
    tenant: Attr[str | None] = field(None)
    #: whether parts come through the host; otherwise the client writes the object itself
    in_parts: Attr[bool]
    object_key: Attr[str]
    name: Attr[str]
    #: the size in bytes; for an object that the client writes, the maximum size
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
    """A URL that events of an application are sent to: those of a tenant, or of one owner within it."""

    application: Attr[str]
    #: `-` for the application itself, or `=` and the tenant's name, percent-encoded; `@` and the owner follow, if there is one
    tenant: Attr[str]
    hook_id: Attr[str]
    url: Attr[str] = required(max_length=2_000)
    #: names of events; `*` for all, `video.*` for a prefix
    events: Attr[list[str]]
    #: the name of the secret that deliveries are signed with
    secret: Attr[str]
    enabled: Attr[bool] = field(True)
    created_at: Attr[datetime]
    created_by: Attr[str] = field("")

    key = Key("APPLICATION#{application}#TENANT#{tenant}", "WEBHOOK#{hook_id}")
    of_tenant = Pattern(title="The webhooks of a tenant")


class WebhookDelivery(Entity, table=webhooks_table, tag="delivery"):
    """An event to be sent to a webhook, and its outcome. Kept for 30 days."""

    application: Attr[str]
    tenant: Attr[str]
    #: starts with the time, so that ids are ordered by time
    delivery_id: Attr[str]
    hook_id: Attr[str]
    event: Attr[str]
    body: Attr[str] = required(hidden=True, max_length=200_000)
    state: Attr[Literal["pending", "delivered", "failed"]] = field("pending")
    attempts: Attr[int] = field(0)
    #: the HTTP status of the last response
    answered: Attr[int | None] = field(None)
    #: the beginning of the last response, or the error
    answer: Attr[str] = field("")
    created_at: Attr[datetime]
    tried_at: Attr[datetime | None] = field(None)
    expires_at: Attr[TTL]

    key = Key("APPLICATION#{application}#TENANT#{tenant}", "DELIVERY#{delivery_id}")
    of_tenant = Pattern(title="The deliveries of a tenant's webhooks, newest first", order="desc")


class WatchPlace(Entity, table=watches_table, tag="place"):
    """The position of a watch, which reads a few pages of a listing at a time."""

    watch: Attr[str]
    #: the cursor of the listing, and the last key before it; None at the beginning
    cursor: Attr[str | None] = field(None)
    after: Attr[str | None] = field(None)
    #: how often the whole listing was read
    rounds: Attr[int] = field(0)

    key = Key("PLACE#{watch}", "PLACE")


class SeenObject(Entity, table=watches_table, tag="seen"):
    """An object as a watch last saw it."""

    watch: Attr[str]
    object_key: Attr[str]
    etag: Attr[str]
    size: Attr[int]

    key = Key("WATCH#{watch}", "{object_key}")
    of_watch = Pattern(title="The objects that a watch has seen, by key")


#: All tables of the host.
TABLES = (access_table, audit_table, secrets_table, uploads_table, webhooks_table, watches_table)

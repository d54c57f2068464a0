"""Routes for webhooks: `/api/webhooks/{application}` for admins of the host and of tenants, `webhook_routes()` for members."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from gateleg.host.errors import Unknown
from gateleg.host.principal import managed_tenant
from gateleg.host.tables import Webhook, WebhookDelivery
from gateleg.host.webhooks import EVENT_PATTERN, Webhooks
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing

HookId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
DeliveryId = Annotated[str, Path(pattern=r"^[0-9]{13}-[0-9a-f]{16}$")]
EventName = Annotated[str, Field(pattern=EVENT_PATTERN, max_length=100)]


class WebhookView(BaseModel):
    """A webhook."""

    hook_id: str
    url: str
    events: list[str]
    secret: str = Field(description="The name of the secret that deliveries are signed with.")
    enabled: bool
    created_at: datetime
    created_by: str

    @classmethod
    def of(cls, hook: Webhook) -> "WebhookView":
        """A webhook."""
        return cls(**{name: getattr(hook, name) for name in cls.model_fields})


class DeliveryView(BaseModel):
    """An event on its way to a webhook, or its outcome."""

    delivery_id: str
    hook_id: str
    event: str
    state: Literal["pending", "delivered", "failed"]
    attempts: int
    answered: int | None = Field(description="The HTTP status of the last response.")
    answer: str = Field(description="The beginning of the last response, or the error.")
    created_at: datetime
    tried_at: datetime | None

    @classmethod
    def of(cls, delivery: WebhookDelivery) -> "DeliveryView":
        """A delivery."""
        return cls(**{name: getattr(delivery, name) for name in cls.model_fields})


class NewWebhookBody(BaseModel):
    """A URL to send events to."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=2_000)
    events: list[EventName] = Field(default=["*"], min_length=1, max_length=50)
    secret: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="The name of a secret to sign with; by default one is created and shown in this response only."
    )


class CreatedWebhook(BaseModel):
    """A new webhook."""

    webhook: WebhookView
    signing_secret: str | None = Field(description="For the receiver. It is not shown again.")


class WebhookSwitch(BaseModel):
    """Whether events are sent to a webhook."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool


@dataclass(frozen=True)
class WebhookScope:
    """The webhooks that a request may see and change: those of a tenant, or of one owner within it."""

    hooks: Webhooks
    tenant: str | None
    owner: str | None
    call: ApiCall

    @property
    def key(self) -> dict[str, str | None]:
        """The arguments of the methods of `Webhooks`."""
        return {"tenant": self.tenant, "owner": self.owner}

    async def note(self, action: str, hook_id: str, **details: Any) -> None:
        """Write a change of a webhook to the audit log."""
        await self.call.note(action, f"{self.hooks.application}/{hook_id}", **self.key, **details)


def _administered(
    call: Using,
    application: Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,39}$")],
    tenant: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    owner: Annotated[
        str | None, Query(min_length=1, max_length=1000, description="A member's own webhooks: tenant and name, such as `acme/ann`.")
    ] = None,
) -> WebhookScope:
    managed = managed_tenant(call.principal, tenant, call.host.settings.tenant_admin_group)
    if application not in {installed.name for installed in call.host.applications}:
        raise Unknown(f"There is no application {application!r} here.")
    return WebhookScope(call.host.resources[application].webhooks, managed, owner, call)


def webhook_routes(hooks: Webhooks, *, prefix: str = "/webhooks", shared: bool = False) -> APIRouter:
    """Routes with which the members of an application manage webhooks. Include them in the application's router.

    Each member has webhooks of their own, which receive the events that are sent with them as the `owner`, and no others. With
    `shared`, the members of a tenant manage the webhooks of the tenant together, which receive all its events: only for an
    application whose members see everything of their tenant.
    """

    def of_caller(call: Using) -> WebhookScope:
        return WebhookScope(hooks, call.principal.tenant, None if shared else call.principal.owner, call)

    return _routes(of_caller, prefix, [])


def _routes(scope_of: Callable[..., WebhookScope], prefix: str, tags: list[Any]) -> APIRouter:
    router = APIRouter(prefix=prefix, tags=tags)
    Scope = Annotated[WebhookScope, Depends(scope_of)]

    @router.get("")
    async def list_webhooks(scope: Scope, limit: Limit = 50, cursor: Cursor = None) -> Listing[WebhookView]:
        """The webhooks, by id."""
        page = await scope.hooks.page(**scope.key, limit=limit, cursor=cursor)
        return Listing(items=[WebhookView.of(hook) for hook in page], next=page.next)

    @router.post("", status_code=201)
    async def create_webhook(scope: Scope, new: NewWebhookBody) -> CreatedWebhook:
        """Add a URL to send events to."""
        by = scope.call.principal.name
        created = await scope.hooks.create(new.url, new.events, secret=new.secret, by=by, **scope.key)
        await scope.note("webhook.create", created.webhook.hook_id, url=new.url)
        return CreatedWebhook(webhook=WebhookView.of(created.webhook), signing_secret=created.signing_secret)

    @router.get("/deliveries")
    async def list_deliveries(
        scope: Scope, hook_id: Annotated[str | None, Query(max_length=100)] = None, limit: Limit = 50, cursor: Cursor = None
    ) -> Listing[DeliveryView]:
        """The deliveries of the last 30 days, newest first."""
        page = await scope.hooks.deliveries(**scope.key, hook_id=hook_id, limit=limit, cursor=cursor)
        return Listing(items=[DeliveryView.of(delivery) for delivery in page], next=page.next)

    @router.post("/deliveries/{delivery_id}/again", status_code=201)
    async def send_again(scope: Scope, delivery_id: DeliveryId) -> DeliveryView:
        """Send the event of a delivery again, as a new delivery."""
        again = await scope.hooks.send_again(delivery_id, **scope.key)
        await scope.note("webhook.again", again.hook_id, delivery=delivery_id)
        return DeliveryView.of(again)

    @router.patch("/{hook_id}")
    async def switch_webhook(scope: Scope, hook_id: HookId, switch: WebhookSwitch) -> WebhookView:
        """Disable or enable a webhook."""
        hook = await scope.hooks.switch(hook_id, enabled=switch.enabled, **scope.key)
        await scope.note("webhook.enable" if switch.enabled else "webhook.disable", hook_id)
        return WebhookView.of(hook)

    @router.delete("/{hook_id}", status_code=204)
    async def delete_webhook(scope: Scope, hook_id: HookId) -> None:
        """Delete a webhook, and the secret that was made for it."""
        await scope.hooks.delete(hook_id, **scope.key)
        await scope.note("webhook.delete", hook_id)

    return router


#: Admins of the host manage all applications and tenants, admins of a tenant their own.
router = _routes(_administered, "/api/webhooks/{application}", ["Webhooks"])

"""Routes for webhooks: `/api/webhooks/{application}` for admins of the host and of tenants, and `webhook_routes()` for members."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from gateleg.web.api.calls import Call, Using
from gateleg.web.api.pages import Cursor, Limit, Listing
from gateleg.web.errors import Unknown
from gateleg.web.tables import Webhook, WebhookDelivery
from gateleg.web.tenant_admin import managed_tenant
from gateleg.web.webhooks.hooks import EVENT_PATTERN, Webhooks

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
    """An event that was sent, and what became of it."""

    delivery_id: str
    hook_id: str
    event: str
    state: Literal["pending", "delivered", "failed"]
    attempts: int
    answered: int | None = Field(description="The HTTP status of the last answer.")
    answer: str = Field(description="The beginning of the last answer, or why there was none.")
    created_at: datetime
    tried_at: datetime | None

    @classmethod
    def of(cls, delivery: WebhookDelivery) -> "DeliveryView":
        """A delivery."""
        return cls(**{name: getattr(delivery, name) for name in cls.model_fields})


class NewWebhookBody(BaseModel):
    """An address that wants to hear of events."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=2_000)
    events: list[EventName] = Field(default=["*"], min_length=1, max_length=50)
    secret: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="The name of a secret to sign with; without, one is made and shown in this answer only."
    )


class CreatedWebhook(BaseModel):
    """A webhook that was made."""

    webhook: WebhookView
    signing_secret: str | None = Field(description="For the receiver. It is not shown again.")


class WebhookSwitch(BaseModel):
    """Whether a webhook is sent to."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool


@dataclass(frozen=True)
class HookScope:
    """Whose webhooks a request is about."""

    hooks: Webhooks
    tenant: str | None
    call: Call


def _administered(
    call: Using,
    application: Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,39}$")],
    tenant: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
) -> HookScope:
    managed = managed_tenant(call.principal, tenant, call.host.settings.tenant_admin_group)
    if application not in {one.name for one in call.host.applications}:
        raise Unknown(f"There is no application {application!r} here.")
    return HookScope(call.host.resources[application].webhooks, managed, call)


def webhook_routes(hooks: Webhooks, *, prefix: str = "/webhooks") -> APIRouter:
    """Routes for the members of an application: each sees the webhooks of their tenant. Include them in the application's router."""

    def own(call: Using) -> HookScope:
        return HookScope(hooks, call.principal.tenant, call)

    return _routes(own, prefix, [])


def _routes(scoped: Callable[..., HookScope], prefix: str, tags: list[Any]) -> APIRouter:
    router = APIRouter(prefix=prefix, tags=tags)
    Scope = Annotated[HookScope, Depends(scoped)]

    @router.get("")
    async def list_webhooks(scope: Scope) -> list[WebhookView]:
        """All webhooks."""
        return [WebhookView.of(hook) for hook in await scope.hooks.list(tenant=scope.tenant)]

    @router.post("", status_code=201)
    async def create_webhook(scope: Scope, new: NewWebhookBody) -> CreatedWebhook:
        """Have an address told of events."""
        by = scope.call.principal.name
        made = await scope.hooks.create(new.url, new.events, tenant=scope.tenant, secret=new.secret, by=by)
        await scope.call.note("webhook.create", f"{scope.hooks.application}/{made.webhook.hook_id}", tenant=scope.tenant, url=new.url)
        return CreatedWebhook(webhook=WebhookView.of(made.webhook), signing_secret=made.signing_secret)

    @router.get("/deliveries")
    async def list_deliveries(
        scope: Scope, hook_id: Annotated[str | None, Query(max_length=100)] = None, limit: Limit = 50, cursor: Cursor = None
    ) -> Listing[DeliveryView]:
        """What was sent, newest first."""
        page = await scope.hooks.deliveries(tenant=scope.tenant, hook_id=hook_id, limit=limit, cursor=cursor)
        return Listing(items=[DeliveryView.of(one) for one in page], next=page.next)

    @router.post("/deliveries/{delivery_id}/again", status_code=201)
    async def send_again(scope: Scope, delivery_id: DeliveryId) -> DeliveryView:
        """Send an event once more."""
        again = await scope.hooks.send_again(delivery_id, tenant=scope.tenant)
        await scope.call.note("webhook.again", f"{scope.hooks.application}/{again.hook_id}", tenant=scope.tenant, delivery=delivery_id)
        return DeliveryView.of(again)

    @router.patch("/{hook_id}")
    async def switch_webhook(scope: Scope, hook_id: HookId, switch: WebhookSwitch) -> WebhookView:
        """Switch a webhook off or on again."""
        hook = await scope.hooks.switch(hook_id, enabled=switch.enabled, tenant=scope.tenant)
        verb = "webhook.enable" if switch.enabled else "webhook.disable"
        await scope.call.note(verb, f"{scope.hooks.application}/{hook_id}", tenant=scope.tenant)
        return WebhookView.of(hook)

    @router.delete("/{hook_id}", status_code=204)
    async def delete_webhook(scope: Scope, hook_id: HookId) -> None:
        """Tell an address no more."""
        await scope.hooks.delete(hook_id, tenant=scope.tenant)
        await scope.call.note("webhook.delete", f"{scope.hooks.application}/{hook_id}", tenant=scope.tenant)

    return router


#: For admins: those of the host have all applications and tenants, those of a tenant their own.
router = _routes(_administered, "/api/webhooks/{application}", ["Webhooks"])

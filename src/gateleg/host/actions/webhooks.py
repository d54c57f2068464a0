"""What may be done to webhooks: create, enable, disable and delete them, and send a delivery again.

`WEBHOOK_ACTIONS` are those of admins of the host and of tenants. `webhook_actions_of_members` are the same for the members of an
application, who do not say whose webhooks they mean.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateleg.host.actions.action import Action, ActionCall, ShownOnce
from gateleg.host.principal import MANAGERS, Role, managed_application
from gateleg.host.tables import Webhook, WebhookDelivery
from gateleg.host.webhooks import EVENT_PATTERN, NewWebhook, Webhooks, owner_of_partition, tenant_of_partition

__all__ = [
    "WEBHOOK_ACTIONS",
    "CreateWebhook",
    "DeliveryView",
    "HookId",
    "WebhookPlace",
    "WebhookView",
    "WebhooksOf",
    "administered_webhooks",
    "create_webhook",
    "delete_webhook",
    "disable_webhook",
    "enable_webhook",
    "send_again",
    "webhook_actions_of_members",
]

HookId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
DeliveryId = Annotated[str, Field(pattern=r"^[0-9]{13}-[0-9a-f]{16}$")]
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


class CreatedWebhook(BaseModel):
    """A new webhook."""

    webhook: WebhookView
    signing_secret: str | None = Field(description="For the receiver. It is not shown again.")

    @classmethod
    def of(cls, created: NewWebhook) -> "CreatedWebhook":
        """A webhook with its secret."""
        return cls(webhook=WebhookView.of(created.webhook), signing_secret=created.signing_secret)


class MembersWebhook(BaseModel):
    """A webhook of the caller."""

    model_config = ConfigDict(extra="forbid")

    hook_id: HookId = Field(description="The id of the webhook, as lists show it.")


class MembersDelivery(BaseModel):
    """A delivery to a webhook of the caller."""

    model_config = ConfigDict(extra="forbid")

    delivery_id: DeliveryId = Field(description="The id of the delivery, as lists show it.")


class CreateMembersWebhook(BaseModel):
    """A URL to send events to."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=2_000, description="The address that events are sent to.")
    events: list[EventName] = Field(
        default=["*"], min_length=1, max_length=50, description="Their names: `*` for all, `order.*` for all that start with `order.`."
    )
    secret: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="The name of a secret to sign with; by default one is created and shown in this response only."
    )


class WebhooksOf(BaseModel):
    """Whose webhooks are meant."""

    application: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")] = Field(description="The application whose events are sent.")
    tenant: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None,
        description="The tenant; by default the application itself, or the tenant of the tenant admin who calls.",
    )
    owner: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="A member's own webhooks: tenant and name, such as `acme/ann`."
    )


class WebhookTarget(MembersWebhook, WebhooksOf):
    """A webhook."""


class DeliveryTarget(MembersDelivery, WebhooksOf):
    """A delivery to a webhook."""


class CreateWebhook(CreateMembersWebhook, WebhooksOf):
    """A URL to send events to."""


@dataclass(frozen=True)
class WebhookPlace:
    """The webhooks that a caller may see and change: those of a tenant, or of one owner within it."""

    hooks: Webhooks
    tenant: str | None
    owner: str | None

    @property
    def key(self) -> dict[str, str | None]:
        """The arguments of the methods of `Webhooks`."""
        return {"tenant": self.tenant, "owner": self.owner}


def administered_webhooks(call: ActionCall, given: Any) -> WebhookPlace:
    """The webhooks of an application that an admin of the host or of a tenant names. Raises `NotAllowed` and `Unknown`."""
    tenant = managed_application(call.host, call.principal, given.application, given.tenant)
    return WebhookPlace(call.host.webhooks_of(given.application), tenant, given.owner)


def _owners(stored: Webhook | WebhookDelivery) -> dict[str, Any]:
    return {"tenant": tenant_of_partition(stored.tenant), "owner": owner_of_partition(stored.tenant)}


def _target(given: Any, stored: Webhook | WebhookDelivery) -> str:
    return f"{stored.application}/{stored.hook_id}"


def _actions(
    place: Callable[[ActionCall, Any], WebhookPlace],
    base: str,
    *,
    create: type[CreateMembersWebhook],
    hook: type[MembersWebhook],
    delivery: type[MembersDelivery],
    words: str = "",
    arguments: Sequence[str] = (),
    **options: Any,
) -> tuple[Action[Any, Any], ...]:
    """The actions below a path: create, enable, disable, delete, send again."""

    def command(name: str, *fields: str) -> dict[str, Any]:
        return {"command": f"{words} {name}", "arguments": (*arguments, *fields)} if words else {}

    async def add(call: ActionCall, given: CreateMembersWebhook) -> NewWebhook:
        whose = place(call, given)
        return await whose.hooks.create(given.url, given.events, secret=given.secret, by=call.principal.name, **whose.key)

    def switching(enabled: bool) -> Any:
        async def switch(call: ActionCall, given: MembersWebhook) -> Webhook:
            whose = place(call, given)
            return await whose.hooks.switch(given.hook_id, enabled=enabled, **whose.key)

        return switch

    async def remove(call: ActionCall, given: MembersWebhook) -> Webhook:
        whose = place(call, given)
        return await whose.hooks.delete(given.hook_id, **whose.key)

    async def again(call: ActionCall, given: MembersDelivery) -> WebhookDelivery:
        whose = place(call, given)
        return await whose.hooks.send_again(given.delivery_id, **whose.key)

    return (
        Action(
            name="webhook.create",
            title="Add",
            help="Add a URL to send events to.",
            input=create,
            run=add,
            http=f"POST {base}",
            made=lambda made: "",
            seals=True,
            target=lambda given, created: _target(given, created.webhook),
            details=lambda given, created: {**_owners(created.webhook), "url": created.webhook.url},
            reply=CreatedWebhook.of,
            reply_type=CreatedWebhook,
            done=lambda created: f"Events are sent to {created.webhook.url} from now on",
            once=_signing_secret,
            tool=False,
            **command("create", "url"),
            **options,
        ),
        Action(
            name="webhook.enable",
            title="Enable",
            help="Send events to a webhook again.",
            input=hook,
            run=switching(True),
            http=f"POST {base}/{{hook_id}}/enable",
            target=_target,
            details=lambda given, changed: _owners(changed),
            reply=WebhookView.of,
            reply_type=WebhookView,
            done=lambda changed: f"Events are sent to {changed.url} again",
            **command("enable", "hook_id"),
            **options,
        ),
        Action(
            name="webhook.disable",
            title="Disable",
            help="Send no more events to a webhook. Pending deliveries to it fail.",
            input=hook,
            run=switching(False),
            http=f"POST {base}/{{hook_id}}/disable",
            target=_target,
            details=lambda given, changed: _owners(changed),
            reply=WebhookView.of,
            reply_type=WebhookView,
            done=lambda changed: f"No events are sent to {changed.url} until it is enabled",
            **command("disable", "hook_id"),
            **options,
        ),
        Action(
            name="webhook.delete",
            title="Delete",
            help="Delete a webhook, and the secret that was made for it.",
            input=hook,
            run=remove,
            http=f"DELETE {base}/{{hook_id}}",
            target=_target,
            details=lambda given, deleted: _owners(deleted),
            done=lambda deleted: f"The webhook to {deleted.url} was deleted",
            asks="No more events are sent to this URL. Its signing secret is deleted too, if it was created for this webhook.",
            dangerous=True,
            tool=False,
            **command("delete", "hook_id"),
            **options,
        ),
        Action(
            name="webhook.again",
            title="Send again",
            help="Send the event of a delivery again, as a new delivery.",
            input=delivery,
            run=again,
            http=f"POST {base}/deliveries/{{delivery_id}}/again",
            made=lambda made: "",
            target=_target,
            details=lambda given, sent: {**_owners(sent), "delivery": given.delivery_id},
            reply=DeliveryView.of,
            reply_type=DeliveryView,
            done=lambda sent: f"The event {sent.event} is sent again",
            **command("again", "delivery_id"),
            **options,
        ),
    )


def _signing_secret(created: NewWebhook) -> ShownOnce | None:
    if created.signing_secret is None:
        return None
    note = "The receiver checks signatures with it. Copy it now: it is not shown again."
    return ShownOnce("The signing secret", note, created.signing_secret)


WEBHOOK_ACTIONS = _actions(
    administered_webhooks,
    "/api/webhooks/{application}",
    create=CreateWebhook,
    hook=WebhookTarget,
    delivery=DeliveryTarget,
    words="webhooks",
    arguments=("application",),
    role=Role.ADMIN,
    query=("tenant", "owner"),
    admits=administered_webhooks,
    also=MANAGERS,
)
create_webhook, enable_webhook, disable_webhook, delete_webhook, send_again = WEBHOOK_ACTIONS


def webhook_actions_of_members(place: Callable[[ActionCall, Any], WebhookPlace], base: str) -> tuple[Action[Any, Any], ...]:
    """What members may do to their webhooks, which `place` finds."""
    inputs: dict[str, Any] = {"create": CreateMembersWebhook, "hook": MembersWebhook, "delivery": MembersDelivery}
    return _actions(place, base, role=Role.MEMBER, **inputs)

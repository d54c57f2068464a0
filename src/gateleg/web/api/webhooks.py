"""Routes for webhooks: `/api/webhooks/{application}` for admins of the host and of tenants, `webhook_routes()` for members."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict

from gateleg.host.actions import Action, ActionCall, perform
from gateleg.host.actions.webhooks import (
    WEBHOOK_ACTIONS,
    DeliveryView,
    HookId,
    WebhookPlace,
    WebhooksOf,
    WebhookView,
    administered_webhooks,
    webhook_actions_of_members,
)
from gateleg.host.webhooks import Webhooks
from gateleg.web.action_routes import add_action
from gateleg.web.api.calls import Using
from gateleg.web.api.pages import Cursor, Limit, Listing


class WebhookSwitch(BaseModel):
    """Whether events are sent to a webhook."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool


@dataclass(frozen=True)
class WebhookScope:
    """The webhooks of a request, and who calls. `named` are the fields that say whose they are."""

    place: WebhookPlace
    call: ActionCall
    named: dict[str, Any]


def _administered(
    call: Using,
    application: Annotated[str, Path(pattern=r"^[a-z][a-z0-9-]{0,39}$")],
    tenant: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    owner: Annotated[
        str | None, Query(min_length=1, max_length=1000, description="A member's own webhooks: tenant and name, such as `acme/ann`.")
    ] = None,
) -> WebhookScope:
    given, caller = WebhooksOf(application=application, tenant=tenant, owner=owner), ActionCall(call.host, call.principal, call.request_id)
    return WebhookScope(administered_webhooks(caller, given), caller, given.model_dump())


def webhook_routes(hooks: Webhooks, *, prefix: str = "/webhooks", shared: bool = False) -> APIRouter:
    """Routes with which the members of an application manage webhooks. Include them in the application's router.

    Each member has webhooks of their own, which receive the events that are sent with them as the `owner`, and no others. With
    `shared`, the members of a tenant manage the webhooks of the tenant together, which receive all its events: only for an
    application whose members see everything of their tenant.
    """

    def place(call: ActionCall, given: Any) -> WebhookPlace:
        return WebhookPlace(hooks, call.principal.tenant, None if shared else call.principal.owner)

    def of_caller(call: Using) -> WebhookScope:
        caller = ActionCall(call.host, call.principal, call.request_id)
        return WebhookScope(place(caller, None), caller, {})

    return _routes(of_caller, webhook_actions_of_members(place, prefix), prefix, [])


def _routes(scope_of: Callable[..., WebhookScope], actions: Sequence[Action[Any, Any]], prefix: str, tags: list[Any]) -> APIRouter:
    router = APIRouter(tags=tags)
    Scope = Annotated[WebhookScope, Depends(scope_of)]
    by_name = {action.name: action for action in actions}

    @router.get(prefix)
    async def list_webhooks(scope: Scope, limit: Limit = 50, cursor: Cursor = None) -> Listing[WebhookView]:
        """The webhooks, by id."""
        page = await scope.place.hooks.page(**scope.place.key, limit=limit, cursor=cursor)
        return Listing(items=[WebhookView.of(hook) for hook in page], next=page.next)

    @router.get(f"{prefix}/deliveries")
    async def list_deliveries(
        scope: Scope, hook_id: Annotated[str | None, Query(max_length=100)] = None, limit: Limit = 50, cursor: Cursor = None
    ) -> Listing[DeliveryView]:
        """The deliveries of the last 30 days, newest first."""
        page = await scope.place.hooks.deliveries(**scope.place.key, hook_id=hook_id, limit=limit, cursor=cursor)
        return Listing(items=[DeliveryView.of(delivery) for delivery in page], next=page.next)

    @router.patch(f"{prefix}/{{hook_id}}")
    async def switch_webhook(scope: Scope, hook_id: HookId, switch: WebhookSwitch) -> WebhookView:
        """Disable or enable a webhook; also by the routes for each."""
        action = by_name["webhook.enable" if switch.enabled else "webhook.disable"]
        return WebhookView.of(await perform(action, scope.call, action.input(hook_id=hook_id, **scope.named)))

    for action in actions:
        add_action(router, action)
    return router


#: Admins of the host manage all applications and tenants, admins of a tenant their own.
router = _routes(_administered, WEBHOOK_ACTIONS, "/api/webhooks/{application}", ["Webhooks"])

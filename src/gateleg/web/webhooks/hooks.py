"""`Webhooks`: addresses that want to hear of an application's events, and the deliveries to them, each a job of the queue."""

from __future__ import annotations

import re
import secrets as chance
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.jobs import Submission
from gateleg.store import create
from gateleg.web.errors import Refusal
from gateleg.web.secret_store import folded
from gateleg.web.tables import Webhook, WebhookDelivery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs import AsyncQueue
    from gateleg.net import Guard
    from gateleg.store import AsyncStore, Page
    from gateleg.web.secret_store import Secrets

__all__ = ["DELIVERY_JOB", "NewWebhook", "Webhooks"]

DELIVERY_JOB = "WEBHOOK_DELIVERY"
KEPT = timedelta(days=30)
#: Webhooks that one tenant of an application may have.
_MOST = 50
_LARGEST = 200_000
#: What names events.
EVENT_PATTERN = r"^(\*|[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*(\.\*)?)$"
_LONGEST_EVENT = 100
_MOST_EVENTS = 50


class WebhookNotFound(Refusal):
    """There is no such webhook or delivery, or it is another tenant's."""

    code = "webhook-not-found"
    status = 404
    fix = "List them for their ids."


class BadWebhook(Refusal):
    """A webhook or an event cannot be like this."""

    code = "bad-webhook"
    status = 422


@dataclass(frozen=True)
class NewWebhook:
    """A webhook that was just made. `signing_secret` is for its receiver; it is not shown again. None when it was one of the caller's."""

    webhook: Webhook
    signing_secret: str | None


@dataclass(frozen=True)
class Webhooks:
    """The webhooks of one application. Without a `tenant` they are the application's own."""

    application: str
    store: AsyncStore
    queue: AsyncQueue
    secrets: Secrets
    guard: Guard

    def of(self, application: str) -> Webhooks:
        """The webhooks of another application; for the host and its administrators."""
        return replace(self, application=application, secrets=self.secrets.of(application))

    async def create(
        self, url: str, events: Sequence[str] = ("*",), *, tenant: str | None = None, secret: str | None = None, by: str = ""
    ) -> NewWebhook:
        """Have an address told of events. Deliveries are signed with the secret of that name, or with one that is made here.

        Raises `AddressRefused` for an address that the host does not send to, as far as that can be told without looking it up.
        """
        self.guard.check_url(url)
        if len([hook async for hook in self._hooks(tenant)]) >= _MOST:
            raise BadWebhook(f"There are {_MOST} webhooks already.", fix="Delete one first.")
        hook_id, value = chance.token_hex(8), None
        if secret is None:
            secret, value = f"webhook-{hook_id}", f"whsec_{chance.token_urlsafe(32)}"
            await self.secrets.put(secret, value, tenant=tenant, by=by)
        else:
            await self.secrets.get(secret, tenant=tenant)
        hook = Webhook(
            application=self.application,
            tenant=folded(tenant),
            hook_id=hook_id,
            url=url,
            events=list(events),
            secret=secret,
            created_at=self.store.setup.now(),
            created_by=by,
        )
        return NewWebhook(await self.store.create(hook), value)

    async def list(self, *, tenant: str | None = None) -> list[Webhook]:
        """All webhooks of a tenant."""
        return [hook async for hook in self._hooks(tenant)]

    async def get(self, hook_id: str, *, tenant: str | None = None) -> Webhook:
        """A webhook. Raises `WebhookNotFound`."""
        found = await self.store.find(Webhook, application=self.application, tenant=folded(tenant), hook_id=hook_id, consistent=True)
        if found is None:
            raise WebhookNotFound(f"There is no webhook {hook_id[:100]!r}.")
        return found

    async def switch(self, hook_id: str, *, enabled: bool, tenant: str | None = None) -> Webhook:
        """Switch a webhook off or on again. What is waiting to be sent to one that is off fails. Raises `WebhookNotFound`."""
        await self.get(hook_id, tenant=tenant)
        changed: Webhook = await self.store.patch(
            Webhook.key(application=self.application, tenant=folded(tenant), hook_id=hook_id), Webhook.enabled.set(enabled)
        )
        return changed

    async def delete(self, hook_id: str, *, tenant: str | None = None) -> None:
        """Tell an address no more, and forget the secret that was made for it."""
        hook = await self.get(hook_id, tenant=tenant)
        await self.store.delete(Webhook, application=self.application, tenant=folded(tenant), hook_id=hook_id)
        if hook.secret == f"webhook-{hook_id}":
            await self.secrets.delete(hook.secret, tenant=tenant)

    async def send(self, event: str, data: Any, *, tenant: str | None = None) -> Sequence[WebhookDelivery]:
        """Tell all webhooks of a tenant that want it of an event: `send("video.finished", {"project": "..."}, tenant="acme")`.

        The delivery and its job are written together, so that neither is without the other.
        """
        wanted = [hook async for hook in self._hooks(tenant) if hook.enabled and wants(hook.events, event)]
        return [await self._deliver(hook, event, data, tenant) for hook in wanted]

    async def deliveries(
        self, *, tenant: str | None = None, hook_id: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[WebhookDelivery]:
        """What was sent, newest first, with what became of it."""
        question = WebhookDelivery.of_tenant(application=self.application, tenant=folded(tenant))
        if hook_id is not None:
            question = question.filter(WebhookDelivery.hook_id == hook_id)
        return await self.store.page(question, limit=limit, cursor=cursor)

    async def delivery(self, delivery_id: str, *, tenant: str | None = None) -> WebhookDelivery:
        """One delivery. Raises `WebhookNotFound`."""
        place = {"application": self.application, "tenant": folded(tenant), "delivery_id": delivery_id}
        found = await self.store.find(WebhookDelivery, consistent=True, **place)
        if found is None:
            raise WebhookNotFound(f"There is no delivery {delivery_id[:100]!r}.")
        return found

    async def send_again(self, delivery_id: str, *, tenant: str | None = None) -> WebhookDelivery:
        """Send what was sent once more, as a delivery of its own."""
        former = await self.delivery(delivery_id, tenant=tenant)
        hook = await self.get(former.hook_id, tenant=tenant)
        return await self._keep(hook, former.event, former.body)

    async def _deliver(self, hook: Webhook, event: str, data: Any, tenant: str | None) -> WebhookDelivery:
        now = self.store.setup.now()
        body = orjson.dumps({"event": event, "application": self.application, "tenant": tenant, "at": now.isoformat(), "data": data})
        if len(body) > _LARGEST:
            raise BadWebhook(f"The event has {len(body):,} bytes; at most {_LARGEST:,} are sent.", fix="Send keys and addresses instead.")
        return await self._keep(hook, event, body.decode())

    async def _keep(self, hook: Webhook, event: str, body: str) -> WebhookDelivery:
        now = self.store.setup.now()
        delivery = WebhookDelivery(
            application=hook.application,
            tenant=hook.tenant,
            delivery_id=f"{int(now.timestamp() * 1000):013d}-{chance.token_hex(8)}",
            hook_id=hook.hook_id,
            event=event,
            body=body,
            created_at=now,
            expires_at=now + KEPT,
        )
        config = {"application": hook.application, "tenant": hook.tenant, "delivery_id": delivery.delivery_id}
        enlisted = await self.queue.enlist(Submission(DELIVERY_JOB, config, subject=f"webhook {hook.hook_id}"))
        await self.store.transact([create(delivery), *enlisted.writes])
        return delivery

    def _hooks(self, tenant: str | None) -> Any:
        return self.store.query(Webhook.of_tenant(application=self.application, tenant=folded(tenant)))


def check_events(patterns: Sequence[str]) -> None:
    """Refuse what does not name events. Raises `BadWebhook`."""
    wrong = [pattern for pattern in patterns if len(pattern) > _LONGEST_EVENT or not re.fullmatch(EVENT_PATTERN, pattern)]
    if wrong or not 0 < len(patterns) <= _MOST_EVENTS:
        what = f"{wrong[0][:_LONGEST_EVENT]!r} does not name events." if wrong else f"A webhook is for 1 to {_MOST_EVENTS} kinds of events."
        raise BadWebhook(what, fix="Name events like video.finished, video.* for all that begin with video., or * for all.")


def wants(patterns: Sequence[str], event: str) -> bool:
    """Whether one of the patterns is for an event: its name, `*`, or `video.*` for what begins with `video.`."""
    return any(pattern in ("*", event) or (pattern.endswith(".*") and event.startswith(pattern[:-1])) for pattern in patterns)

"""`Webhooks`: URLs that an application's events are sent to, and their deliveries, each a job of the queue.

A webhook belongs to a whole tenant, or to one owner within it. Events are sent to the webhooks of the tenant; those with an `owner` also to
the webhooks of that owner, and to no other owner's.

The job that sends a webhook: signed, through the SSRF guard, retried with growing pauses for about a day.
"""

from __future__ import annotations

import re
import secrets as random_secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

import orjson
from pydantic import BaseModel

from gateleg.host.errors import Refusal
from gateleg.host.secrets import SecretNotFound, tenant_from_key_part, tenant_key_part
from gateleg.host.tables import Webhook, WebhookDelivery
from gateleg.jobs import GiveUp, JobContext, Jobs, Retry, Submission
from gateleg.net.errors import AddressRefused, OutgoingError
from gateleg.net.http import HttpRequest
from gateleg.net.webhook_signature import sign_webhook
from gateleg.store import create

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.host.secrets import Secrets
    from gateleg.jobs import AsyncQueue
    from gateleg.net.http import GuardedClient
    from gateleg.store import AsyncStore, Page

__all__ = ["DELIVERY_JOB", "EVENT_PATTERN", "BadWebhook", "NewWebhook", "Webhooks", "check_events"]


DELIVERY_JOB = "WEBHOOK_DELIVERY"
RETENTION = timedelta(days=30)
#: The maximum number of webhooks of a tenant, and of an owner within one.
_MAX_WEBHOOKS = 50
_MAX_EVENT_BYTES = 200_000
#: The name of an event, `*`, or a prefix such as `video.*`.
EVENT_PATTERN = r"^(\*|[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*(\.\*)?)$"
_MAX_EVENT_LENGTH = 100
_MAX_EVENTS = 50


class WebhookNotFound(Refusal):
    """There is no such webhook or delivery, or it belongs to another tenant or owner."""

    status = 404
    fix = "List the webhooks or deliveries for valid ids."


class BadWebhook(Refusal):
    """The webhook or the event is not valid."""

    status = 422


@dataclass(frozen=True)
class NewWebhook:
    """A new webhook. `signing_secret` is for the receiver and is not shown again; None for a secret that the caller named."""

    webhook: Webhook
    signing_secret: str | None


@dataclass(frozen=True)
class Webhooks:
    """The webhooks of one application.

    Without a `tenant`, they are those of the application as a whole; with an `owner`, those of one member (`Principal.owner`).
    """

    application: str
    store: AsyncStore
    queue: AsyncQueue
    secrets: Secrets
    outgoing: GuardedClient

    def of(self, application: str) -> Webhooks:
        """The webhooks of another application; for the host and its administrators."""
        return replace(self, application=application, secrets=self.secrets.of(application))

    async def create(
        self,
        url: str,
        events: Sequence[str] = ("*",),
        *,
        tenant: str | None = None,
        owner: str | None = None,
        secret: str | None = None,
        by: str = "",
    ) -> NewWebhook:
        """Send events to an address from now on. Deliveries are signed with the tenant's secret of that name, or with a new one.

        Raises `AddressRefused` for an address that the host does not send to. A name that cannot be resolved now is checked at delivery.
        """
        await self.outgoing.check(url)
        if len(await self.list(tenant=tenant, owner=owner)) >= _MAX_WEBHOOKS:
            raise BadWebhook(f"The limit of {_MAX_WEBHOOKS} webhooks is reached.", fix="Delete one first.")
        hook_id, value = random_secrets.token_hex(8), None
        if secret is not None and owner is not None:
            # The owner could have anything signed with a secret of the tenant.
            raise BadWebhook("A member's own webhook cannot be signed with a secret of the tenant.", fix="Omit `secret`: one is created.")
        if secret is None:
            secret, value = f"webhook-{hook_id}", f"whsec_{random_secrets.token_urlsafe(32)}"
            await self.secrets.put(secret, value, tenant=tenant, by=by)
        else:
            await self.secrets.get(secret, tenant=tenant)
        hook = Webhook(
            application=self.application,
            tenant=_partition(tenant, owner),
            hook_id=hook_id,
            url=url,
            events=list(events),
            secret=secret,
            created_at=self.store.setup.now(),
            created_by=by,
        )
        return NewWebhook(await self.store.create(hook), value)

    async def list(self, *, tenant: str | None = None, owner: str | None = None) -> list[Webhook]:
        """All webhooks of a tenant, without those of its owners; or those of one owner. There are 50 at most."""
        query = Webhook.of_tenant(application=self.application, tenant=_partition(tenant, owner))
        return [hook async for hook in self.store.query(query)]

    async def page(
        self, *, tenant: str | None = None, owner: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Webhook]:
        """One page of the same, by id."""
        query = Webhook.of_tenant(application=self.application, tenant=_partition(tenant, owner))
        return await self.store.page(query, limit=limit, cursor=cursor)

    async def get(self, hook_id: str, *, tenant: str | None = None, owner: str | None = None) -> Webhook:
        """A webhook. Raises `WebhookNotFound`."""
        key = {"application": self.application, "tenant": _partition(tenant, owner), "hook_id": hook_id}
        found = await self.store.find(Webhook, consistent=True, **key)
        if found is None:
            raise WebhookNotFound(f"There is no webhook {hook_id[:100]!r}.")
        return found

    async def switch(self, hook_id: str, *, enabled: bool, tenant: str | None = None, owner: str | None = None) -> Webhook:
        """Disable or enable a webhook. Pending deliveries to a disabled one fail. Raises `WebhookNotFound`."""
        hook = await self.get(hook_id, tenant=tenant, owner=owner)
        changed: Webhook = await self.store.patch(hook, Webhook.enabled.set(enabled))
        return changed

    async def delete(self, hook_id: str, *, tenant: str | None = None, owner: str | None = None) -> Webhook:
        """Delete a webhook, and the secret that was made for it; return what it was. Raises `WebhookNotFound`."""
        hook = await self.get(hook_id, tenant=tenant, owner=owner)
        await self.store.delete(hook)
        if hook.secret == f"webhook-{hook_id}":
            await self.secrets.delete(hook.secret, tenant=tenant)
        return hook

    async def send(self, event: str, data: Any, *, tenant: str | None = None, owner: str | None = None) -> Sequence[WebhookDelivery]:
        """Send an event: `send("video.finished", {"project": "..."}, tenant="acme", owner=project.owner_id)`.

        All webhooks of the tenant that are for the event receive it, and those of its `owner`. Without an owner, no member's own
        webhook does. The delivery and its job are written in one transaction.
        """
        hooks = await self.list(tenant=tenant)
        hooks += await self.list(tenant=tenant, owner=owner) if owner is not None else []
        return [await self._deliver(hook, event, data, tenant) for hook in hooks if hook.enabled and wants(hook.events, event)]

    async def deliveries(
        self,
        *,
        tenant: str | None = None,
        owner: str | None = None,
        hook_id: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[WebhookDelivery]:
        """The deliveries of the last 30 days with their outcomes, newest first."""
        query = WebhookDelivery.of_tenant(application=self.application, tenant=_partition(tenant, owner))
        if hook_id is not None:
            query = query.filter(WebhookDelivery.hook_id == hook_id)
        return await self.store.page(query, limit=limit, cursor=cursor)

    async def delivery(self, delivery_id: str, *, tenant: str | None = None, owner: str | None = None) -> WebhookDelivery:
        """One delivery. Raises `WebhookNotFound`."""
        key = {"application": self.application, "tenant": _partition(tenant, owner), "delivery_id": delivery_id}
        found = await self.store.find(WebhookDelivery, consistent=True, **key)
        if found is None:
            raise WebhookNotFound(f"There is no delivery {delivery_id[:100]!r}.")
        return found

    async def send_again(self, delivery_id: str, *, tenant: str | None = None, owner: str | None = None) -> WebhookDelivery:
        """Send the event of a delivery again, as a new delivery."""
        former = await self.delivery(delivery_id, tenant=tenant, owner=owner)
        hook = await self.get(former.hook_id, tenant=tenant, owner=owner)
        return await self._enqueue(hook, former.event, former.body)

    async def _deliver(self, hook: Webhook, event: str, data: Any, tenant: str | None) -> WebhookDelivery:
        now = self.store.setup.now()
        body = orjson.dumps({"event": event, "application": self.application, "tenant": tenant, "at": now.isoformat(), "data": data})
        if len(body) > _MAX_EVENT_BYTES:
            message = f"The event {event} has {len(body):,} bytes; the limit is {_MAX_EVENT_BYTES:,}."
            raise BadWebhook(message, fix="Send ids or links instead of the content.")
        return await self._enqueue(hook, event, body.decode())

    async def _enqueue(self, hook: Webhook, event: str, body: str) -> WebhookDelivery:
        now = self.store.setup.now()
        delivery = WebhookDelivery(
            application=hook.application,
            tenant=hook.tenant,
            delivery_id=f"{int(now.timestamp() * 1000):013d}-{random_secrets.token_hex(8)}",
            hook_id=hook.hook_id,
            event=event,
            body=body,
            created_at=now,
            expires_at=now + RETENTION,
        )
        config = {"application": hook.application, "tenant": hook.tenant, "delivery_id": delivery.delivery_id}
        enlisted = await self.queue.enlist(Submission(DELIVERY_JOB, config, subject=f"webhook {hook.hook_id}"))
        await self.store.transact([create(delivery), *enlisted.writes])
        return delivery


def _partition(tenant: str | None, owner: str | None) -> str:
    """The stored attribute `tenant`: a partition for each tenant, and for each owner within one. Quoting keeps them apart."""
    return tenant_key_part(tenant) if owner is None else f"{tenant_key_part(tenant)}@{quote(owner, safe='')}"


def tenant_of_partition(partition: str) -> str | None:
    """The tenant that a stored webhook or delivery belongs to."""
    return tenant_from_key_part(partition.partition("@")[0])


def owner_of_partition(partition: str) -> str | None:
    """The member that a stored webhook or delivery belongs to, if it is a member's own."""
    _, of_owner, owner = partition.partition("@")
    return unquote(owner) if of_owner else None


def check_events(patterns: Sequence[str]) -> None:
    """Raise `BadWebhook` unless all are names or prefixes of events."""
    wrong = [pattern for pattern in patterns if len(pattern) > _MAX_EVENT_LENGTH or not re.fullmatch(EVENT_PATTERN, pattern)]
    if wrong or not 0 < len(patterns) <= _MAX_EVENTS:
        problem = f"{wrong[0][:_MAX_EVENT_LENGTH]!r} is not a valid event name." if wrong else f"Name 1 to {_MAX_EVENTS} events."
        raise BadWebhook(problem, fix="Events have names like video.finished; video.* stands for all that begin with video., * for all.")


def wants(patterns: Sequence[str], event: str) -> bool:
    """Whether a pattern matches an event: its name, `*`, or `video.*` for all that begin with `video.`."""
    return any(pattern in ("*", event) or (pattern.endswith(".*") and event.startswith(pattern[:-1])) for pattern in patterns)


#: 30 seconds, a minute, two, ... up to six hours: twelve attempts in about a day.
RETRY = Retry(times=12, first=30.0, longest=6 * 3600.0)
#: Characters of a response that are stored.
_MAX_RESPONSE_CHARACTERS = 1_000
_GONE = 410
State = Literal["pending", "delivered", "failed"]


class Delivery(BaseModel):
    """The delivery that a job sends."""

    application: str
    tenant: str
    delivery_id: str


class NotDelivered(Exception):
    """The receiver did not accept it; it is retried."""


def webhook_jobs(store: AsyncStore, secrets: Secrets, outgoing: GuardedClient) -> Jobs:
    """The job type of deliveries."""
    jobs = Jobs()
    # A redirect would pass the event, with its signature, to somebody else.
    client = type(outgoing)(outgoing.guard, seconds=min(outgoing.seconds, 15.0), limit=100_000, redirects=0, tls=outgoing.tls)

    async def deliver(job: JobContext, config: Delivery) -> dict[str, int]:
        place = {"application": config.application, "tenant": config.tenant}
        delivery = await store.find(WebhookDelivery, consistent=True, delivery_id=config.delivery_id, **place)
        if delivery is None:
            raise GiveUp("The delivery has expired.")
        if delivery.state == "delivered":
            return {"status": delivery.answered or 0}
        hook = await store.find(Webhook, consistent=True, hook_id=delivery.hook_id, **place)
        if hook is None or not hook.enabled:
            await _note(store, delivery, None, "The webhook was deleted or disabled.", "failed")
            raise GiveUp("The webhook was deleted or switched off.")
        try:
            secret = await secrets.of(config.application).get(hook.secret, tenant=tenant_of_partition(config.tenant))
            answer = await client.fetch(_request(hook, delivery, secret, store.setup.now().timestamp()))
        except (AddressRefused, SecretNotFound) as error:
            await _note(store, delivery, None, error.message, "failed")
            raise GiveUp(error.message) from None
        except OutgoingError as error:
            await _note(store, delivery, None, error.message, _state(job))
            raise NotDelivered(error.message) from None
        head = answer.body[:_MAX_RESPONSE_CHARACTERS].decode("utf-8", "replace")
        if 200 <= answer.status < 300:
            await _note(store, delivery, answer.status, head, "delivered")
            return {"status": answer.status}
        await _note(store, delivery, answer.status, head, "failed" if answer.status == _GONE else _state(job))
        if answer.status == _GONE:
            raise GiveUp("The receiver responded 410 Gone.")
        raise NotDelivered(f"The receiver responded {answer.status}.")

    jobs.handler(DELIVERY_JOB, config=Delivery, retry=RETRY, timeout=60)(deliver)
    return jobs


def _request(hook: Webhook, delivery: WebhookDelivery, secret: str, now: float) -> HttpRequest:
    body = delivery.body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "gateleg-webhooks",
        "Gateleg-Event": delivery.event,
        "Gateleg-Delivery": delivery.delivery_id,
        "Gateleg-Signature": sign_webhook(secret, delivery.delivery_id, body, now),
    }
    return HttpRequest(hook.url, body, headers)


def _state(job: JobContext) -> State:
    """The state of a delivery after a failed attempt: the last one decides."""
    return "failed" if job.job.retry_count >= RETRY.times else "pending"


async def _note(store: AsyncStore, delivery: WebhookDelivery, status: int | None, answer: str, state: State) -> None:
    await store.patch(
        WebhookDelivery.key(application=delivery.application, tenant=delivery.tenant, delivery_id=delivery.delivery_id),
        WebhookDelivery.attempts.add(1),
        WebhookDelivery.answered.set(status),
        WebhookDelivery.answer.set(answer),
        WebhookDelivery.state.set(state),
        WebhookDelivery.tried_at.set(store.setup.now()),
    )

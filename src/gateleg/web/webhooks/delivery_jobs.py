"""The job that sends a webhook: signed, through the SSRF guard, retried with growing pauses for about a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from gateleg.jobs import GiveUp, JobContext, Jobs, Retry
from gateleg.net.errors import AddressRefused, OutgoingError
from gateleg.net.http import HttpRequest
from gateleg.net.webhook_signature import sign_webhook
from gateleg.web.secret_store import SecretNotFound
from gateleg.web.tables import Webhook, WebhookDelivery
from gateleg.web.webhooks.hooks import DELIVERY_JOB, tenant_of_partition

if TYPE_CHECKING:
    from gateleg.net.http import GuardedClient
    from gateleg.store import AsyncStore
    from gateleg.web.secret_store import Secrets

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

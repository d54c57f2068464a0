"""Webhooks: events of applications, sent to URLs of tenants, signed and retried."""

from gateleg.web.webhooks.hooks import BadWebhook, NewWebhook, WebhookNotFound, Webhooks

__all__ = ["BadWebhook", "NewWebhook", "WebhookNotFound", "Webhooks"]

"""Webhooks: events of applications, sent to addresses that tenants have given, signed and tried again."""

from gateleg.web.webhooks.hooks import BadWebhook, NewWebhook, WebhookNotFound, Webhooks

__all__ = ["BadWebhook", "NewWebhook", "WebhookNotFound", "Webhooks"]

"""What may be done to a host, as values: see `action`. `ACTIONS` is the table of all of them; the doors are drawn from it."""

from typing import Any

from gateleg.host.actions.action import Action, ActionCall, BulkAction, BulkResult, ShownOnce, StoppedHalfway, perform, perform_all
from gateleg.host.actions.items import ITEM_ACTIONS
from gateleg.host.actions.jobs import JOB_ACTIONS
from gateleg.host.actions.keys import KEY_ACTIONS
from gateleg.host.actions.objects import OBJECT_ACTIONS
from gateleg.host.actions.queues import QUEUE_ACTIONS, SCHEDULE_ACTIONS
from gateleg.host.actions.secrets import SECRET_ACTIONS
from gateleg.host.actions.webhooks import WEBHOOK_ACTIONS

__all__ = ["ACTIONS", "Action", "ActionCall", "BulkAction", "BulkResult", "ShownOnce", "StoppedHalfway", "perform", "perform_all"]

#: Every action of the kit. Applications declare their own (`Application.actions`).
ACTIONS: tuple[Action[Any, Any], ...] = (
    *JOB_ACTIONS,
    *QUEUE_ACTIONS,
    *SCHEDULE_ACTIONS,
    *ITEM_ACTIONS,
    *OBJECT_ACTIONS,
    *KEY_ACTIONS,
    *SECRET_ACTIONS,
    *WEBHOOK_ACTIONS,
)

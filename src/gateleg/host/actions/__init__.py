"""What may be done to a host, as values: see `action`. `ACTIONS` is the table of all of them; the doors are drawn from it."""

from gateleg.host.actions.action import Action, ActionCall, BulkAction, BulkResult, StoppedHalfway, perform, perform_all
from gateleg.host.actions.items import ITEM_ACTIONS
from gateleg.host.actions.jobs import JOB_ACTIONS
from gateleg.host.actions.objects import OBJECT_ACTIONS
from gateleg.host.actions.queues import QUEUE_ACTIONS, SCHEDULE_ACTIONS

__all__ = ["ACTIONS", "Action", "ActionCall", "BulkAction", "BulkResult", "StoppedHalfway", "perform", "perform_all"]

#: Every action of the kit. Applications declare their own (`Application.actions`).
ACTIONS = (*JOB_ACTIONS, *QUEUE_ACTIONS, *SCHEDULE_ACTIONS, *ITEM_ACTIONS, *OBJECT_ACTIONS)

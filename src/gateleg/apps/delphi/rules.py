"""Who may see a conversation and who may change it. Pure.

A conversation belongs to a group, or to nobody, of the tenant of who uploaded it. Members see what belongs to nobody or to one of their
groups, in their own tenant; viewers and those above see all. Members change what belongs to one of their groups; operators and those above
change all, and name models that are not on this host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.ai.addresses import parse_model_address
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.web import Refusal, Role
from gateleg.web.errors import NotAllowed, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.model import Condition
    from gateleg.web import Principal

#: Values that one comparison may list.
_LISTED = 100


class NameTaken(Refusal):
    """The caller may not know of the conversation that has the name."""

    code = "name-taken"
    status = 409
    fix = "Choose another name for yours."


def may_see(principal: Principal, group: str | None, tenant: str | None = None) -> bool:
    """Whether somebody may see what belongs to a group, or to nobody, of a tenant. What has neither is the host's, for everybody."""
    if principal.may(Role.VIEWER) or (group is None and tenant is None):
        return True
    return tenant == principal.tenant and (group is None or group in principal.groups)


def may_change(principal: Principal, group: str | None, tenant: str | None = None) -> bool:
    """Whether somebody may upload, submit jobs and rename topics for what belongs to a group, or to nobody, of a tenant."""
    return principal.may(Role.OPERATOR) or (tenant == principal.tenant and group is not None and group in principal.groups)


def check_visible(principal: Principal, conversation: StoredConversation | None, name: str) -> StoredConversation:
    """The conversation, if it is there and the caller may see it: both are refused alike."""
    if conversation is None or not may_see(principal, conversation.group, conversation.tenant):
        raise Unknown(f"There is no conversation {name!r}.", fix="GET /api/delphi/conversations lists them.")
    return conversation


def check_change(principal: Principal, conversation: StoredConversation) -> StoredConversation:
    """The conversation that the caller sees, if they may change it."""
    if not may_change(principal, conversation.group, conversation.tenant):
        raise NotAllowed(
            f"{principal.name!r} may look at this conversation, and not change it.",
            fix="Ask an operator, or somebody of the group that it belongs to.",
        )
    return conversation


def check_upload(principal: Principal, current: StoredConversation | None, group: str | None) -> None:
    """Refuse an upload that the caller may not make: to what is there, or as something new of a group."""
    if current is not None:
        if not may_see(principal, current.group, current.tenant):
            raise NameTaken("This name cannot be used.")
        check_change(principal, current)
    elif not may_change(principal, group, principal.tenant):
        raise NotAllowed(
            f"{principal.name!r} may only upload for a group of their own.", fix="Name one of your groups, or ask an operator to upload it."
        )


def check_models(principal: Principal, models: Iterable[str]) -> None:
    """Refuse models that are not of this host to those who do not answer for it: it would write to any address for them, and pay."""
    for address in models:
        if parse_model_address(address).provider != "local" and not principal.may(Role.OPERATOR):
            raise NotAllowed(
                f"{principal.name!r} may use the models of this host, and {address!r} is not one.", fix="Ask an operator to submit the job."
            )


def check_operator(principal: Principal) -> None:
    """Refuse what is about all conversations to those who do not operate the host."""
    if not principal.may(Role.OPERATOR):
        raise NotAllowed(f"{principal.name!r} may not run all conversations again.", fix="Ask an operator.")


def visible_condition(principal: Principal) -> Condition | None:
    """What conversations must fulfil to be listed for somebody; None when they see all."""
    if principal.may(Role.VIEWER):
        return None
    of_tenant = StoredConversation.tenant.missing() if principal.tenant is None else StoredConversation.tenant == principal.tenant
    of_group = StoredConversation.group.missing()
    groups = sorted(principal.groups)
    for start in range(0, len(groups), _LISTED):
        of_group |= StoredConversation.group.is_in(groups[start : start + _LISTED])
    return (StoredConversation.group.missing() & StoredConversation.tenant.missing()) | (of_tenant & of_group)

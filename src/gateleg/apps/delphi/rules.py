"""Who may see a conversation and who may change it. Pure.

A conversation belongs to the tenant of its uploader and, optionally, to a group. In their own tenant, members see conversations without a
group and those of their groups, and change those of their groups. Viewers see all conversations. Operators change all, and may use models
that are not on this host. A higher role includes the rights of the lower ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.host import Refusal, Role
from gateleg.host.errors import NotAllowed, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.host import Principal
    from gateleg.model import Condition

#: The maximum number of values in one IN comparison.
_MOST_IN_VALUES = 100


class ConversationNameTaken(Refusal):
    """Another conversation, which the caller may not see, has this name."""

    code = "name-taken"
    status = 409
    fix = "Choose another name."


def may_see(principal: Principal, group: str | None, tenant: str | None = None) -> bool:
    """Whether the principal may see a conversation of this group and tenant. Without both, everybody may."""
    if principal.may(Role.VIEWER) or (group is None and tenant is None):
        return True
    return tenant == principal.tenant and (group is None or group in principal.groups)


def may_change(principal: Principal, group: str | None, tenant: str | None = None) -> bool:
    """Whether the principal may upload, submit jobs and rename topics for a conversation of this group and tenant."""
    return principal.may(Role.OPERATOR) or (tenant == principal.tenant and group is not None and group in principal.groups)


def check_visible(principal: Principal, conversation: StoredConversation | None, name: str) -> StoredConversation:
    """Return the conversation if it exists and the caller may see it. The same error covers both cases."""
    if conversation is None or not may_see(principal, conversation.group, conversation.tenant):
        raise Unknown(f"There is no conversation {name!r}.", fix="List conversations with GET /api/delphi/conversations.")
    return conversation


def check_change(principal: Principal, conversation: StoredConversation) -> StoredConversation:
    """Return the conversation if the caller, who sees it, may change it."""
    if not may_change(principal, conversation.group, conversation.tenant):
        raise NotAllowed(
            f"{principal.name!r} may see this conversation but not change it.",
            fix="Ask an operator, or a member of the group that it belongs to.",
        )
    return conversation


def check_upload(principal: Principal, current: StoredConversation | None, group: str | None) -> None:
    """Refuse an upload that the caller may not make, to an existing conversation or as a new one of a group."""
    if current is not None:
        if not may_see(principal, current.group, current.tenant):
            raise ConversationNameTaken("This name cannot be used.")
        check_change(principal, current)
    elif not may_change(principal, group, principal.tenant):
        raise NotAllowed(
            f"{principal.name!r} may only upload for a group of their own.", fix="Name one of your groups, or ask an operator to upload it."
        )


def check_models(principal: Principal, models: Iterable[str]) -> None:
    """Refuse models outside this host unless the caller is an operator: the host would send data to any address, and pay for it."""
    for address in models:
        # No name in the settings can stand for another provider than `local` under this name.
        if address.strip().partition(":")[0] != "local" and not principal.may(Role.OPERATOR):
            raise NotAllowed(
                f"{principal.name!r} may only use local models, and {address!r} is not local.", fix="Ask an operator to submit the job."
            )


def check_operator(principal: Principal) -> None:
    """Refuse an action on all conversations unless the caller is an operator."""
    if not principal.may(Role.OPERATOR):
        raise NotAllowed(f"{principal.name!r} may not run all conversations again.", fix="Ask an operator.")


def check_shared_attributes(principal: Principal) -> None:
    """Refuse a queue or a concurrency key of a job, which concern the jobs of others too, unless the caller is an operator."""
    if not principal.may(Role.OPERATOR):
        raise NotAllowed(f"{principal.name!r} may not choose the queue or the concurrency key of a job.", fix="Leave it out.")


def visible_condition(principal: Principal) -> Condition | None:
    """The filter for the conversations that the principal may see; None when they may see all."""
    if principal.may(Role.VIEWER):
        return None
    of_tenant = StoredConversation.tenant.missing() if principal.tenant is None else StoredConversation.tenant == principal.tenant
    of_group = StoredConversation.group.missing()
    groups = sorted(principal.groups)
    for start in range(0, len(groups), _MOST_IN_VALUES):
        of_group |= StoredConversation.group.is_in(groups[start : start + _MOST_IN_VALUES])
    return (StoredConversation.group.missing() & StoredConversation.tenant.missing()) | (of_tenant & of_group)

"""Who may see and change what: one function for each question. Pure.

What a tenant has (agents, prompts, flows, servers, wizards) is seen by all its users and changed by its editors. Threads, and what happens
in them, belong to the caller who began them; viewers and above see those of others, operators and above change them. The catalogue is read
by everybody, and written by operators of the host who have no tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gateleg.apps.agents.errors import NotACatalogueEditor, NotAHostOperator, NotAnEditor
from gateleg.web import Role

if TYPE_CHECKING:
    from gateleg.apps.agents.tenancy import Context
    from gateleg.web import Principal


class Owned(Protocol):
    """What belongs to a caller of a partition."""

    @property
    def owner_id(self) -> Any:
        """`Context.owner` of the caller."""

    @property
    def partition(self) -> Any:
        """The tenant."""


O = TypeVar("O", bound=Owned)  # noqa: E741


def sees(context: Context, item: Owned) -> bool:
    """Whether the caller may see what belongs to somebody."""
    return bool(item.partition == context.partition) and (context.sees_all or item.owner_id == context.owner)


def changes(context: Context, item: Owned) -> bool:
    """Whether the caller may change what belongs to somebody."""
    return bool(item.partition == context.partition) and (context.changes_all or item.owner_id == context.owner)


def visible(context: Context, item: O | None) -> O | None:
    """The item, if there is one that the caller may see."""
    return item if item is not None and sees(context, item) else None


def check_editor(context: Context) -> None:
    """Refuse changes of what the tenant has to those who may only use it."""
    if not context.edits:
        raise NotAnEditor(f"{context.principal.name!r} may use what {context.part_id!r} has, and not change it.")


def runs_host(principal: Principal) -> bool:
    """Whether the caller runs the host, for all tenants: an operator or an admin who has no tenant."""
    return principal.tenant is None and principal.may(Role.OPERATOR)


def check_host_operator(context: Context) -> None:
    """Refuse what is about all tenants to everybody but those who run the host."""
    if not runs_host(context.principal):
        raise NotAHostOperator(f"{context.principal.name!r} does not run this host for all tenants.")


def check_catalogue_editor(context: Context) -> None:
    """Refuse changes of what all tenants share to everybody but operators of the host."""
    if not runs_host(context.principal):
        raise NotACatalogueEditor(f"{context.principal.name!r} may read the catalogue, and not change it.")

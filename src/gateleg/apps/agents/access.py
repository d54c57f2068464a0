"""Access rules, as pure functions.

All users of a tenant see its agents, prompts, flows, servers and wizards; its editors change them. Threads and their contents belong to the
caller who started them; viewers and above see other users' threads, operators and above change them. Everybody reads the catalogue; only
operators of the host without a tenant write it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gateleg.apps.agents.errors import NotACatalogueEditor, NotAHostOperator, NotAnEditor
from gateleg.host import Role

if TYPE_CHECKING:
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Principal


class Owned(Protocol):
    """An item that belongs to one caller in a partition."""

    @property
    def owner_id(self) -> Any:
        """The `Context.owner` of the caller who created it."""

    @property
    def partition(self) -> Any:
        """The tenant's partition."""


OwnedT = TypeVar("OwnedT", bound=Owned)


def may_see(context: Context, item: Owned) -> bool:
    """Whether the caller may see an owned item."""
    return bool(item.partition == context.partition) and (context.sees_all or item.owner_id == context.owner)


def may_change(context: Context, item: Owned) -> bool:
    """Whether the caller may change an owned item."""
    return bool(item.partition == context.partition) and (context.changes_all or item.owner_id == context.owner)


def if_visible(context: Context, item: OwnedT | None) -> OwnedT | None:
    """Return the item if it exists and the caller may see it, else None."""
    return item if item is not None and may_see(context, item) else None


def check_editor(context: Context) -> None:
    """Raise `NotAnEditor` unless the caller may change the tenant's agents, prompts, flows, servers and wizards."""
    if not context.edits:
        raise NotAnEditor(f"{context.principal.name!r} may use the agents of {context.part_id!r}, but not change them.")


def runs_host(principal: Principal) -> bool:
    """Whether the caller operates the whole host: an operator or admin without a tenant."""
    return principal.tenant is None and principal.may(Role.OPERATOR)


def check_host_operator(context: Context) -> None:
    """Raise `NotAHostOperator` unless the caller operates the whole host."""
    if not runs_host(context.principal):
        raise NotAHostOperator(f"{context.principal.name!r} is not an operator of the whole host.")


def check_catalogue_editor(context: Context) -> None:
    """Raise `NotACatalogueEditor` unless the caller operates the whole host."""
    if not runs_host(context.principal):
        raise NotACatalogueEditor(f"{context.principal.name!r} may read the catalogue, but not change it.")

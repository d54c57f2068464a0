"""Who may look into a table and change its items here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.ai.tables import cache_table
from gateleg.web.principal import Role
from gateleg.web.tables import TABLES

if TYPE_CHECKING:
    from gateleg.web.principal import Principal

#: The host's own tables: who can sign in, and what was done.
_OWN = tuple(table.name for table in TABLES)


def _is_hosts_own(table: str) -> bool:
    """Whether a table is a host's own: of this host, or of another one that keeps its tables in the same store under a prefix."""
    return table.endswith(_OWN)


def why_not_read(principal: Principal, table: str) -> str:
    """Why somebody may not see the items of a table; empty when they may."""
    if _is_hosts_own(table) and not principal.may(Role.ADMIN):
        return "It says who may sign in and what was done; only an admin may see its items."
    if table.endswith(cache_table.name) and not principal.may(Role.ADMIN):
        return "It holds what models have answered to everybody; only an admin may see its items."
    return ""


def why_not_change(principal: Principal, table: str) -> str:
    """Why somebody may not change the items of a table here; empty when they may."""
    if _is_hosts_own(table):
        return "Keys are made and revoked in the settings, and what was done stays written down."
    return "" if principal.may(Role.OPERATOR) else "Changing items needs the role operator."

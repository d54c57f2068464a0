"""Who may view and change the items of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.ai.tables import cache_table
from gateleg.web.principal import Role
from gateleg.web.tables import TABLES

if TYPE_CHECKING:
    from gateleg.web.principal import Principal

#: The host's own tables: keys, sessions and the audit log.
_OWN = tuple(table.name for table in TABLES)


def _is_hosts_own(table: str) -> bool:
    """Whether a table belongs to a host: this one, or another with the same store and a prefix."""
    return table.endswith(_OWN)


def why_not_read(principal: Principal, table: str) -> str:
    """Why a caller may not view the items of a table; empty if they may."""
    if _is_hosts_own(table) and not principal.may(Role.ADMIN):
        return "This table holds keys, sessions and the audit log; only an admin may see its items."
    if table.endswith(cache_table.name) and not principal.may(Role.ADMIN):
        return "This table holds cached replies of models for all users; only an admin may see its items."
    return ""


def why_not_change(principal: Principal, table: str) -> str:
    """Why a caller may not change the items of a table here; empty if they may."""
    if _is_hosts_own(table):
        return "Keys are created and revoked in the settings, and the audit log cannot be changed."
    return "" if principal.may(Role.OPERATOR) else "Changing items needs the role operator."

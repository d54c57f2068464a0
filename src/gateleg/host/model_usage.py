"""The usage of models that `gateleg.ai` records, by day, application and tenant."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from gateleg.ai import UsageDay
from gateleg.host.errors import NotAllowed, Refusal
from gateleg.host.principal import Role

if TYPE_CHECKING:
    from gateleg.host.principal import Principal
    from gateleg.store import AsyncStore

__all__ = ["read_usage", "visible_tenant"]

#: The maximum number of days in a period.
LONGEST = 92


class BadPeriod(Refusal):
    """A period ends before it begins, or is too long."""

    status = 422
    fix = f"Set the first and the last day, at most {LONGEST} days apart."


def visible_tenant(principal: Principal, tenant: str | None) -> str | None:
    """The tenant whose usage a caller sees: their own for members; viewers and above see all, or the tenant that they name."""
    if principal.may(Role.VIEWER):
        return tenant
    if principal.tenant is None:
        raise NotAllowed(
            f"{principal.name!r} has no tenant, and so sees no usage.",
            fix="Ask an admin of this host, or use a key with a tenant.",
        )
    if tenant not in (None, principal.tenant):
        raise NotAllowed(f"{principal.name!r} sees the usage of their own tenant only.", fix="Omit `tenant`.")
    return principal.tenant


async def read_usage(
    store: AsyncStore, since: date, until: date, *, application: str | None = None, tenant: str | None = None
) -> list[UsageDay]:
    """The usage of a period, the last day first, then by application, tenant and model."""
    days = (until - since).days + 1
    if not 1 <= days <= LONGEST:
        raise BadPeriod(f"From {since} to {until} are {days} days.")
    between = UsageDay.day.between(f"{since}", f"{until}")
    if tenant is not None:
        found = [one async for one in store.query(UsageDay.of_tenant(tenant=tenant).where(between))]
    elif application is not None:
        found = [one async for one in store.query(UsageDay.of_application(application=application).where(between))]
    else:
        wanted = [f"{since + timedelta(days=number)}" for number in range(days)]
        found = [one for day in wanted async for one in store.query(UsageDay.of_day, day=day)]
    chosen = [one for one in found if application in (None, one.application)]
    ordered = sorted(chosen, key=lambda one: (one.application, one.tenant or "", one.model))
    return sorted(ordered, key=lambda one: one.day, reverse=True)

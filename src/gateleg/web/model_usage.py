"""What models were used for: the records that `gateleg.ai` keeps, by day, application and tenant."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from gateleg.ai import UsageDay
from gateleg.web.errors import NotAllowed, Refusal
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from gateleg.store import AsyncStore
    from gateleg.web.principal import Principal

#: Days that are read at once.
LONGEST = 92


class BadPeriod(Refusal):
    """A period that ends before it begins, or is too long to be read at once."""

    code = "bad-period"
    status = 422
    fix = f"Give the first and the last day, at most {LONGEST} of them."


def visible_tenant(principal: Principal, tenant: str | None) -> str | None:
    """The tenant whose usage somebody sees: their own, for members; those who run the host see all, and name one if they like."""
    if principal.may(Role.VIEWER):
        return tenant
    if principal.tenant is None:
        raise NotAllowed(
            f"{principal.name!r} belongs to no tenant, and sees the usage of none.",
            fix="Ask somebody who runs this host, or for a key with a tenant.",
        )
    if tenant not in (None, principal.tenant):
        raise NotAllowed(f"{principal.name!r} sees the usage of their own tenant only.", fix="Leave `tenant` out.")
    return principal.tenant


async def read_usage(
    store: AsyncStore, since: date, until: date, *, application: str | None = None, tenant: str | None = None
) -> list[UsageDay]:
    """The usage of some days, the last day first, then by application, tenant and model."""
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

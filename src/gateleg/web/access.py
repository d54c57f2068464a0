"""FastAPI dependencies for the role of the caller: `Member`, `Viewer`, `Operator`, `Admin`.

Each is the `Principal` that calls, and refuses callers with a lower role: `async def list_notes(caller: Member) -> ...`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from gateleg.extras import explained

try:
    from fastapi import Depends
except ModuleNotFoundError as error:
    raise explained(error) from error
from starlette.requests import HTTPConnection  # noqa: TC002 - FastAPI reads the annotations

from gateleg.host.errors import NotAllowed, NotSignedIn
from gateleg.host.principal import Principal, Role

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Admin", "Member", "Operator", "Viewer", "needs", "only", "principal_of"]


def principal_of(request: HTTPConnection) -> Principal:
    """The caller of a request or of a websocket."""
    principal: Principal | None = getattr(request.state, "principal", None)
    if principal is None:
        raise NotSignedIn
    return principal


def needs(role: Role) -> Callable[[HTTPConnection], Principal]:
    """A dependency that requires a role, or a higher one; its value is the caller."""

    def check(request: HTTPConnection) -> Principal:
        principal = principal_of(request)
        if not principal.may(role):
            raise NotAllowed(f"This needs the role {role.word}; {principal.name!r} has {principal.role.word}.")
        return principal

    return check


def only(role: Role) -> Any:
    """A role as a dependency of routes that do not use the caller: `APIRouter(dependencies=[only(Role.VIEWER)])`."""
    return Depends(needs(role))


Member = Annotated[Principal, Depends(needs(Role.MEMBER))]
Viewer = Annotated[Principal, Depends(needs(Role.VIEWER))]
Operator = Annotated[Principal, Depends(needs(Role.OPERATOR))]
Admin = Annotated[Principal, Depends(needs(Role.ADMIN))]

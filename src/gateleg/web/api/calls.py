"""FastAPI dependencies that give a route the host, the caller and the audit log, one for each role."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from gateleg.web.access import needs
from gateleg.web.host import Host
from gateleg.web.principal import Principal, Role

__all__ = ["ApiCall", "Using", "Viewing"]


@dataclass(frozen=True)
class ApiCall:
    """A request or a websocket whose caller has the role that its route needs."""

    host: Host
    principal: Principal
    request_id: str

    async def note(self, action: str, target: str = "", **details: Any) -> None:
        """Write an action of the caller to the audit log."""
        await self.host.audit.note(self.principal, action, target, request_id=self.request_id, **details)


def host_of(request: HTTPConnection) -> Host:
    """The host that serves a request or a websocket."""
    host: Host = request.app.state.host
    return host


def _call(role: Role) -> Callable[[HTTPConnection], ApiCall]:
    check = needs(role)

    def call(request: HTTPConnection) -> ApiCall:
        return ApiCall(host_of(request), check(request), request.state.request_id)

    return call


Using = Annotated[ApiCall, Depends(_call(Role.MEMBER))]
Viewing = Annotated[ApiCall, Depends(_call(Role.VIEWER))]
Operating = Annotated[ApiCall, Depends(_call(Role.OPERATOR))]
Administering = Annotated[ApiCall, Depends(_call(Role.ADMIN))]

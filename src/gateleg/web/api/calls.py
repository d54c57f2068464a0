"""FastAPI dependencies that give a route the host, the caller and the audit log, one for each role."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends
from starlette.requests import HTTPConnection, Request

from gateleg.host.host import Host
from gateleg.host.principal import Principal, Role
from gateleg.jobs import JobUnreadable
from gateleg.web.access import needs

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


async def refuse_set_aside(request: Request) -> None:
    """Say what is wrong with an item of the job table whose id is no UUID, before that id is refused as one."""
    job_id = str(request.path_params.get("job_id", ""))
    principal: Principal | None = request.state.principal
    if principal is None or not principal.may(Role.VIEWER) or not job_id:
        return
    with suppress(ValueError):
        UUID(job_id)
        return
    bad = await host_of(request).queue.find_set_aside(job_id)
    if bad is not None:
        raise JobUnreadable(bad.sentence)


Using = Annotated[ApiCall, Depends(_call(Role.MEMBER))]
Viewing = Annotated[ApiCall, Depends(_call(Role.VIEWER))]
Operating = Annotated[ApiCall, Depends(_call(Role.OPERATOR))]
Administering = Annotated[ApiCall, Depends(_call(Role.ADMIN))]

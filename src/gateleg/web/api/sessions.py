"""`/api/sessions`: where a person is signed in; for admins, where everybody is."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from gateleg.host.credentials import ROLE_WORDS, RoleWord
from gateleg.host.errors import NotAllowed, Unknown
from gateleg.host.principal import Role
from gateleg.host.sessions import LiveSession
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter(prefix="/api", tags=["Keys"])
SessionId = Annotated[str, Path(max_length=200, description="As the list shows it.")]


class LiveSessionView(BaseModel):
    """A session of a browser."""

    session_id: str
    key_id: str = Field(description="Of the key that started it, or of a person: `openid:` and a digest.")
    name: str
    role: RoleWord
    groups: list[str]
    tenant: str | None
    browser: str = Field(description="The browser, as it names itself.")
    created_at: datetime
    seen_at: datetime = Field(description="Accurate to a minute.")
    ends_at: datetime
    current: bool = Field(description="Whether this request was sent in it.")

    @classmethod
    def of(cls, live: LiveSession, *, current: bool) -> "LiveSessionView":
        """A session."""
        return cls(
            session_id=live.session_id,
            key_id=live.key_id,
            name=live.principal.name,
            role=ROLE_WORDS[live.principal.role],
            groups=sorted(live.principal.groups),
            tenant=live.principal.tenant,
            browser=live.browser,
            created_at=live.created_at,
            seen_at=live.seen_at,
            ends_at=live.ends_at,
            current=current,
        )


def _check_own(call: ApiCall, key_id: str, missing: str) -> None:
    """Hide the sessions of others from everybody but admins."""
    if key_id != call.host.sessions.own_key_id(call.principal) and not call.principal.may(Role.ADMIN):
        raise Unknown(missing, fix="List your sessions with GET /api/sessions.")


@router.get("/sessions")
async def list_sessions(
    call: Using,
    request: Request,
    everyone: Annotated[bool, Query(description="Those of all callers, for admins.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[LiveSessionView]:
    """The valid sessions of the caller, or of everyone. A page may have fewer than `limit` although others follow."""
    sessions = call.host.sessions
    if everyone and not call.principal.may(Role.ADMIN):
        raise NotAllowed(f"This needs the role admin; {call.principal.name!r} has {call.principal.role.word}.")
    page = await sessions.page(key_id=None if everyone else sessions.own_key_id(call.principal), limit=limit, cursor=cursor)
    cookie = request.state.session
    return Listing(items=[LiveSessionView.of(live, current=sessions.is_current(live, cookie)) for live in page], next=page.next)


@router.post("/sessions/{session_id}/revoke")
async def revoke_session(call: Using, request: Request, session_id: SessionId) -> LiveSessionView:
    """End a session of the caller, or for admins of anybody. Hosts refuse it within a second."""
    _check_own(call, session_id.rpartition(".")[0], f"There is no session {session_id!r}, or it is over.")
    live = await call.host.sessions.revoke(session_id)
    await call.note("session.revoke", session_id, name=live.principal.name)
    return LiveSessionView.of(live, current=call.host.sessions.is_current(live, request.state.session))


class RevokeAllBody(BaseModel):
    """Whose sessions to end."""

    model_config = ConfigDict(extra="forbid")

    key_id: str = Field(min_length=1, max_length=200, description="As the list shows it.")


class RevokedAll(BaseModel):
    """How many sessions were ended."""

    revoked: int


@router.post("/sessions/revoke")
async def revoke_sessions(call: Using, body: RevokeAllBody) -> RevokedAll:
    """End all sessions of a key or of a person, which is the caller unless an admin asks."""
    _check_own(call, body.key_id, f"There are no sessions of {body.key_id!r}.")
    revoked = await call.host.sessions.revoke_all(body.key_id)
    await call.note("session.revoke-all", body.key_id, revoked=revoked)
    return RevokedAll(revoked=revoked)

"""`/api/keys`: the API keys of the host. `/api/session`: the caller."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from gateleg.host.actions.keys import KEY_ACTIONS, KeyId, KeyView
from gateleg.host.credentials import ROLE_WORDS, RoleWord
from gateleg.web.action_routes import add_action
from gateleg.web.api.calls import Administering, Using
from gateleg.web.api.etags import tagged
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter(tags=["Keys"])


@router.get("/api/keys")
async def list_keys(call: Administering, limit: Limit = 50, cursor: Cursor = None) -> Listing[KeyView]:
    """All keys ordered by id, including expired and revoked ones."""
    page = await call.host.keys.page(limit=limit, cursor=cursor)
    return Listing(items=[KeyView.of(key) for key in page], next=page.next)


@router.get("/api/keys/{key_id}", response_model=KeyView)
async def get_key(call: Administering, request: Request, key_id: KeyId) -> Response:
    """One key."""
    return tagged(request, KeyView.of(await call.host.keys.get(key_id)))


class SessionView(BaseModel):
    """The caller."""

    name: str
    role: RoleWord
    groups: list[str]
    tenant: str | None
    csrf_token: str | None = Field(description="For a session: send it as X-CSRF-Token with every write.")


@router.get("/api/session")
async def get_session(call: Using, request: Request) -> SessionView:
    """The caller, and the CSRF token that a page sends with its writes."""
    principal, cookie = call.principal, request.state.session
    return SessionView(
        name=principal.name,
        role=ROLE_WORDS[principal.role],
        groups=sorted(principal.groups),
        tenant=principal.tenant,
        csrf_token=None if cookie is None else call.host.sessions.csrf_token(cookie),
    )


for action in KEY_ACTIONS:
    add_action(router, action)

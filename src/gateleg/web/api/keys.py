"""`/api/keys`: the API keys of the host. `/api/session`: the caller."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from gateleg.host.credentials import ROLE_WORDS, RoleWord
from gateleg.host.principal import Role
from gateleg.host.tables import ApiKey
from gateleg.web.api.calls import Administering, Using
from gateleg.web.api.etags import tagged
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter(prefix="/api", tags=["Keys"])
KeyId = Annotated[str, Path(pattern=r"^[a-z2-7]{12}$")]


class KeyView(BaseModel):
    """A key without its secret."""

    key_id: str = Field(description="The part of the key after `gl_`.")
    name: str
    role: RoleWord
    groups: list[str]
    tenant: str | None
    created_at: datetime
    created_by: str
    ends_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    used_at: datetime | None = Field(description="Accurate to some minutes.")

    @classmethod
    def of(cls, key: ApiKey) -> "KeyView":
        """A key."""
        return cls(groups=sorted(key.groups or ()), **{name: getattr(key, name) for name in cls.model_fields if name != "groups"})


class NewKeyBody(BaseModel):
    """A key to create."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=100)
    role: RoleWord
    groups: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(default=[], max_length=100)
    tenant: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    ends_at: AwareDatetime | None = None


class CreatedKey(BaseModel):
    """A new key. This is the only time that it is shown."""

    key: KeyView
    token: str = Field(description="Send it as `Authorization: Bearer ...`. It is not stored.")


@router.get("/keys")
async def list_keys(call: Administering, limit: Limit = 50, cursor: Cursor = None) -> Listing[KeyView]:
    """All keys ordered by id, including expired and revoked ones."""
    page = await call.host.keys.page(limit=limit, cursor=cursor)
    return Listing(items=[KeyView.of(key) for key in page], next=page.next)


@router.post("/keys", status_code=201)
async def create_key(call: Administering, new: NewKeyBody) -> CreatedKey:
    """Create a key."""
    made = await call.host.keys.create(
        new.name, Role[new.role.upper()], groups=new.groups, tenant=new.tenant, ends_at=new.ends_at, by=call.principal.name
    )
    await call.note("key.create", made.key.key_id, name=new.name, role=new.role)
    return CreatedKey(key=KeyView.of(made.key), token=made.token)


@router.get("/keys/{key_id}", response_model=KeyView)
async def get_key(call: Administering, request: Request, key_id: KeyId) -> Response:
    """One key."""
    return tagged(request, KeyView.of(await call.host.keys.get(key_id)))


@router.post("/keys/{key_id}/revoke")
async def revoke_key(call: Administering, key_id: KeyId) -> KeyView:
    """Revoke a key and end all sessions that were started with it."""
    key = await call.host.keys.revoke(key_id, by=call.principal.name)
    await call.note("key.revoke", key_id, name=key.name)
    return KeyView.of(key)


class SessionView(BaseModel):
    """The caller."""

    name: str
    role: RoleWord
    groups: list[str]
    tenant: str | None
    csrf_token: str | None = Field(description="For a session: send it as X-CSRF-Token with every write.")


@router.get("/session", tags=["Keys"])
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

"""What may be done to API keys: create one, which shows its token once, and revoke one or several."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from gateleg.host.actions.action import Action, ActionCall, BulkAction, BulkReply, BulkResult, RefusedTargetReply, ShownOnce
from gateleg.host.credentials import NewKey, RoleWord
from gateleg.host.principal import Role
from gateleg.host.tables import ApiKey

__all__ = ["KEY_ACTIONS", "CreateKey", "KeyChoice", "KeyId", "KeyTarget", "KeyView", "create_key", "revoke_key", "revoke_keys"]

_MAX_KEYS = 1000
KeyId = Annotated[str, Field(pattern=r"^[a-z2-7]{12}$")]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Tenant = Annotated[str, Field(min_length=1, max_length=200)]


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


class CreatedKey(BaseModel):
    """A new key. This is the only time that it is shown."""

    key: KeyView
    token: str = Field(description="Send it as `Authorization: Bearer ...`. It is not stored.")

    @classmethod
    def of(cls, made: NewKey) -> "CreatedKey":
        """A key with its token."""
        return cls(key=KeyView.of(made.key), token=made.token)


class CreateKey(BaseModel):
    """A key to create."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(description="The person or program that will use the key.")
    role: RoleWord = Field(
        default="viewer",
        description="member: use applications; viewer (the default): also read everything; operator: also submit, cancel, edit; "
        "admin: also manage keys.",
    )
    groups: list[Name] = Field(default=[], max_length=100, description="Groups, by which applications grant access.")
    tenant: Tenant | None = Field(default=None, description="The tenant that it belongs to, for applications.")
    ends_at: AwareDatetime | None = Field(default=None, description="When it expires.")
    days: float | None = Field(default=None, ge=0.001, le=36_500, description="Days until it expires, instead of `ends_at`.")
    _prepared: NewKey | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.days is not None and self.ends_at is not None:
            raise ValueError("send either `ends_at` or `days`, not both")
        return self

    def prepared(self, call: ActionCall) -> NewKey:
        """The key, which can be shown and is not valid before the action is performed. Raises `BadKey`."""
        if self._prepared is None:
            ends_at = self.ends_at if self.days is None else call.host.store.setup.now() + timedelta(days=self.days)
            self._prepared = call.host.keys.prepare(
                self.name, Role[self.role.upper()], groups=self.groups, tenant=self.tenant, ends_at=ends_at, by=call.principal.name
            )
        return self._prepared


async def _create(call: ActionCall, given: CreateKey) -> NewKey:
    return await call.host.keys.keep(given.prepared(call))


create_key = Action(
    name="key.create",
    title="Create a key",
    help="Create a key. Its token is in the response, and is shown only once.",
    role=Role.ADMIN,
    input=CreateKey,
    run=_create,
    http="POST /api/keys",
    command="keys create",
    arguments=("name",),
    creates_store=True,
    target=lambda given, made: made.key.key_id,
    details=lambda given, made: {"name": made.key.name, "role": made.key.role},
    reply=CreatedKey.of,
    reply_type=CreatedKey,
    made=lambda made: f"/api/keys/{made.key.key_id}",
    done=lambda made: f"The key of {made.key.name} was created",
    once=lambda made: ShownOnce(f"The key of {made.key.name}", "Copy it now: it is not stored, and cannot be shown again.", made.token),
    tool=False,
)


class KeyTarget(BaseModel):
    """A key."""

    model_config = ConfigDict(extra="forbid")

    key_id: KeyId = Field(description="The key's id, as `gateleg keys list` shows it.")


@dataclass(frozen=True)
class RevokedKey:
    """A key that is revoked, and whether it was before."""

    key: ApiKey
    before: bool


async def _revoke(call: ActionCall, given: KeyTarget) -> RevokedKey:
    current = await call.host.keys.get(given.key_id)
    return RevokedKey(await call.host.keys.revoke(given.key_id, by=call.principal.name), current.revoked_at is not None)


revoke_key = Action(
    name="key.revoke",
    title="Revoke",
    help="Revoke a key. Hosts reject it within a second and end its sessions.",
    role=Role.ADMIN,
    input=KeyTarget,
    run=_revoke,
    http="POST /api/keys/{key_id}/revoke",
    command="keys revoke",
    target=lambda given, revoked: given.key_id,
    details=lambda given, revoked: {"name": revoked.key.name},
    changed=lambda revoked: not revoked.before,
    reply=lambda revoked: KeyView.of(revoked.key),
    reply_type=KeyView,
    done=lambda revoked: f"{revoked.key.key_id} ({revoked.key.name}) is revoked",
    asks="Requests with this key are refused from now on, and its sessions end. This cannot be undone.",
    dangerous=True,
    # Whoever revokes the last key of an admin locks everybody out.
    tool=False,
)


class KeyChoice(BaseModel):
    """Keys by their ids, or all valid ones that match every given filter."""

    model_config = ConfigDict(extra="forbid")

    key_ids: list[KeyId] | None = Field(default=None, min_length=1, max_length=_MAX_KEYS, description="These keys; no filters then.")
    name: Name | None = Field(default=None, description="The person or program that uses them.")
    group: Name | None = Field(default=None, description="A group that they have.")
    tenant: Tenant | None = Field(default=None, description="The tenant that they belong to.")
    unused_days: float | None = Field(default=None, ge=0, le=36_500, description="They were not used for this many days.")

    @property
    def filters(self) -> list[Any]:
        """The filters that are given."""
        return [value for value in (self.name, self.group, self.tenant, self.unused_days) if value is not None]

    @model_validator(mode="after")
    def _either_ids_or_filters(self) -> Self:
        if (self.key_ids is None) == (not self.filters):
            raise ValueError("say which keys: send either `key_ids` or filters")
        return self

    def fits(self, key: ApiKey, now: datetime) -> bool:
        """Whether a key is valid and matches the filters."""
        over = key.revoked_at is not None or (key.ends_at is not None and key.ends_at <= now)
        return (
            not over
            and self.name in (None, key.name)
            and self.tenant in (None, key.tenant)
            and (self.group is None or self.group in (key.groups or ()))
            and (self.unused_days is None or now - (key.used_at or key.created_at) >= timedelta(days=self.unused_days))
        )


class RevokedKeys(BulkReply):
    """The keys that are revoked, and those for which it was refused."""

    keys: list[KeyView]

    @classmethod
    def of(cls, result: BulkResult[RevokedKey]) -> "RevokedKeys":
        """The result of a bulk."""
        return cls(
            keys=[KeyView.of(revoked.key) for revoked in result.done],
            refused=[RefusedTargetReply.of(refused) for refused in result.refused],
        )


async def _select(call: ActionCall, given: KeyChoice) -> Sequence[KeyTarget]:
    if given.key_ids is not None:
        keys = [await call.host.keys.get(key_id) for key_id in dict.fromkeys(given.key_ids)]
    else:
        now = call.host.store.setup.now()
        keys = [key for key in await call.host.keys.list() if given.fits(key, now)]
    return [KeyTarget(key_id=key.key_id) for key in keys]


revoke_keys = BulkAction(
    of=revoke_key,
    title="Revoke",
    help="Revoke keys: those with these ids, or all valid ones that match the filters. If one of the ids does not exist, none is revoked.",
    input=KeyChoice,
    select=_select,
    http="POST /api/keys/revoke",
    command="keys revoke",
    verb="revoked",
    name_of=lambda given: given.key_id,
    choices=("name", "group", "tenant", "unused_days"),
    reply=RevokedKeys.of,
    reply_type=RevokedKeys,
    asks="Requests with these keys are refused from now on, and their sessions end. This cannot be undone.",
).action

KEY_ACTIONS = (create_key, revoke_key, revoke_keys)

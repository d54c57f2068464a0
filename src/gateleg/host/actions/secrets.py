"""What may be done to secrets: set, replace and delete them, and re-encrypt them after the host's secret has changed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from gateleg.host.actions.action import Action, ActionCall, BulkReply, BulkResult, RefusedTargetReply, perform_all
from gateleg.host.host_secret import given_secret
from gateleg.host.principal import MANAGERS, Role, managed_application
from gateleg.host.secrets import HOST, BadSecret, SecretInfo, SecretUnreadable

__all__ = [
    "SECRET_ACTIONS",
    "PutSecret",
    "RekeySecrets",
    "SecretTarget",
    "SecretView",
    "TenantName",
    "delete_secret",
    "put_secret",
    "rekey_secrets",
]

_MAX_BYTES = 65_536
ApplicationName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
TenantName = Annotated[str, Field(min_length=1, max_length=200)]


class SecretView(BaseModel):
    """A secret without its value."""

    application: str
    tenant: str | None
    name: str
    version: int = Field(description="Incremented each time the value is replaced.")
    created_at: datetime
    changed_at: datetime
    changed_by: str

    @classmethod
    def of(cls, info: SecretInfo) -> "SecretView":
        """The description of a secret, without its value."""
        return cls(**{name: getattr(info, name) for name in cls.model_fields})


class SecretTarget(BaseModel):
    """A secret."""

    model_config = ConfigDict(extra="forbid")

    application: ApplicationName = Field(default=HOST, description="The owner: an application, or `host`, the default.")
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = Field(
        description="The name that settings and applications refer to it by."
    )
    tenant: TenantName | None = Field(
        default=None,
        description="The tenant that owns it; by default the application itself, or the tenant of the tenant admin who calls.",
    )


class PutSecret(SecretTarget):
    """The value of a secret. It is not shown again."""

    value: SecretStr = Field(min_length=1, max_length=_MAX_BYTES)


def admit(call: ActionCall, given: SecretTarget) -> str | None:
    """The tenant whose secret is meant. Raises `NotAllowed` and `Unknown` for callers who do not manage it."""
    return managed_application(call.host, call.principal, given.application, given.tenant, itself=True)


def _target(given: BaseModel, info: SecretInfo) -> str:
    return f"{info.application}/{info.name}"


async def _put(call: ActionCall, given: PutSecret) -> SecretInfo:
    secrets = call.host.secrets.of(given.application)
    return await secrets.put(given.name, given.value.get_secret_value(), tenant=admit(call, given), by=call.principal.name)


put_secret = Action(
    name="secret.put",
    title="Set",
    help="Set a secret, or replace its value.",
    role=Role.ADMIN,
    input=PutSecret,
    run=_put,
    http="PUT /api/secrets/{application}/{name}",
    query=("tenant",),
    command="secrets set",
    arguments=("name",),
    seals=True,
    target=_target,
    details=lambda given, info: {"tenant": info.tenant, "version": info.version},
    reply=SecretView.of,
    reply_type=SecretView,
    done=lambda info: f"{info.application}/{info.name} was set (version {info.version})",
    admits=admit,
    also=MANAGERS,
    tool=False,
)


async def _delete(call: ActionCall, given: SecretTarget) -> SecretInfo:
    return await call.host.secrets.of(given.application).delete(given.name, tenant=admit(call, given))


delete_secret = Action(
    name="secret.delete",
    title="Delete",
    help="Delete a secret.",
    role=Role.ADMIN,
    input=SecretTarget,
    run=_delete,
    http="DELETE /api/secrets/{application}/{name}",
    query=("tenant",),
    command="secrets delete",
    arguments=("name",),
    target=_target,
    details=lambda given, info: {"tenant": info.tenant},
    done=lambda info: f"{info.application}/{info.name} was deleted",
    asks="Everything that uses it fails until a secret with this name is set again. The value cannot be recovered.",
    dangerous=True,
    admits=admit,
    also=MANAGERS,
    tool=False,
)


def _long_enough(former: SecretStr) -> SecretStr:
    given_secret(former.get_secret_value())
    return former


class RekeySecrets(BaseModel):
    """The secret that the host had before."""

    model_config = ConfigDict(extra="forbid")

    application: ApplicationName = Field(default=HOST, description="The owner: an application, or `host`, the default.")
    former: Annotated[SecretStr, AfterValidator(_long_enough)] = Field(title="The old secret of the host", max_length=_MAX_BYTES)


class _RekeySecret(SecretTarget):
    """One secret to re-encrypt."""

    former: SecretStr


@dataclass(frozen=True)
class Rekeyed:
    """The secrets of an application that were re-encrypted."""

    application: str
    secrets: BulkResult[SecretInfo]

    @property
    def words(self) -> str:
        """The result in words."""
        return self.secrets.words(f"secrets of {self.application} re-encrypted with the current secret of the host")


class RekeyedSecrets(BulkReply):
    """How many secrets were re-encrypted, and those for which it was refused."""

    application: str
    count: int

    @classmethod
    def of(cls, result: Rekeyed) -> "RekeyedSecrets":
        """The result of a bulk."""
        refused = [RefusedTargetReply.of(refused) for refused in result.secrets.refused]
        return cls(application=result.application, count=len(result.secrets.done), refused=refused)


async def _rekey_one(call: ActionCall, given: _RekeySecret) -> SecretInfo:
    try:
        former = given_secret(given.former.get_secret_value())
        return await call.host.secrets.of(given.application).rekey_one(given.name, former, tenant=given.tenant)
    except SecretUnreadable as error:
        raise BadSecret(f"{given.application}/{given.name} was encrypted with neither secret.", fix="Set it again.") from error


_rekey_secret = Action(
    name="secret.rekey",
    title="Re-encrypt",
    help="Re-encrypt a secret.",
    role=Role.ADMIN,
    input=_RekeySecret,
    run=_rekey_one,
    http="",
    target=_target,
    details=lambda given, info: {"tenant": info.tenant},
    tool=False,
)


async def _rekey(call: ActionCall, given: RekeySecrets) -> Rekeyed:
    managed_application(call.host, call.principal, given.application, None, itself=True)
    secrets = call.host.secrets.of(given.application)
    targets = [
        _RekeySecret(application=info.application, name=info.name, tenant=info.tenant, former=given.former)
        for info in await secrets.unreadable()
    ]
    result = await perform_all(_rekey_secret, call, targets, verb="re-encrypted", name=lambda target: f"{target.application}/{target.name}")
    return Rekeyed(given.application, result)


rekey_secrets = Action(
    name="secret.rekey",
    title="Re-encrypt",
    help="Re-encrypt an application's secrets, of all tenants, after the host's `secret` has changed.",
    role=Role.ADMIN,
    input=RekeySecrets,
    run=_rekey,
    http="POST /api/secrets/{application}/rekey",
    command="secrets rekey",
    arguments=(),
    seals=True,
    target=lambda given, result: given.application,
    each="secret.rekey",
    reply=RekeyedSecrets.of,
    reply_type=RekeyedSecrets,
    done=lambda result: result.words,
    tool=False,
)

SECRET_ACTIONS = (put_secret, delete_secret, rekey_secrets)

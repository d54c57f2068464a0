"""Sign-in of people by OpenID Connect: the settings in `[oidc]`, and the principal that they make of a person's claims.

No I/O. `gateleg.host.openid_provider` talks to the provider.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from gateleg.host.errors import Refusal
from gateleg.host.principal import PERSON_PREFIX, Principal, Role
from gateleg.net import is_loopback

__all__ = [
    "Metadata",
    "OpenIdSettings",
    "PersonRefused",
    "ProviderAway",
    "ProviderFault",
    "SignInFailed",
    "claim_at",
    "metadata_from",
    "person_id",
    "principal_from",
]

#: Signatures with a public key. `none` and those with a shared secret (HS256) cannot be configured.
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
#: Names that the host itself has in the audit log.
_RESERVED_NAMES = frozenset({"local", "command line"})
_MAX_NAME, _MAX_GROUP, _MAX_GROUPS, _MAX_TENANT = 100, 200, 500, 200


class ProviderAway(Refusal):
    """The sign-in provider cannot be reached, or does not answer in time."""

    status = 503
    fix = "Try again in a moment, or sign in with an API key."

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"Retry-After": "10"})


class ProviderFault(Refusal):
    """The sign-in provider and the settings of this host do not fit together."""

    status = 502
    fix = "Compare the settings in [oidc] with the provider; `gateleg doctor` examines it."
    #: anybody can try to sign in, and the message names addresses and settings
    public = "The sign-in provider and the settings of this host do not fit together."
    public_fix = "Sign in with an API key. An admin finds the reason in the log of this host, and with `gateleg doctor`."


class SignInFailed(Refusal):
    """A sign-in was not completed: it is too old, was used before, or its answer is not valid."""

    status = 401
    fix = "Sign in again."


class PersonRefused(Refusal):
    """The provider knows the person, but the settings of this host give them no access. `reason` is for admins."""

    status = 403
    fix = "Ask an admin of this host for access; its log has the reason."

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class OpenIdSettings(BaseModel):
    """How people sign in, and which claims of the provider give them a role, groups and a tenant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str | None = Field(
        default=None, description="URL of the provider, as in its discovery document; people can sign in with it once it is set"
    )
    name: str = Field(default="OpenID Connect", min_length=1, max_length=60, description="name of the provider on the sign-in page")
    client_id: str | None = Field(default=None, min_length=1, description="id of this host at the provider")
    client_secret: SecretStr | None = Field(
        default=None,
        description="secret of this host at the provider, or `secret:NAME` for a secret of the host; none for a public client",
    )
    scopes: tuple[str, ...] = Field(default=("openid", "profile", "email"), description="scopes to request")
    userinfo: bool = Field(default=False, description="read claims from the provider's userinfo endpoint too")
    name_claim: str = Field(
        default="email", min_length=1, description="claim with the name of a person, which must be unique and never given to another one"
    )
    trust_email: bool = Field(default=False, description="use `email` also if the provider does not say that it was verified")
    role_claims: tuple[str, ...] = Field(default=(), description="claims whose values give a role, such as realm_access.roles")
    roles: dict[str, Literal["member", "viewer", "operator", "admin"]] = Field(
        default={}, description="role by value of these claims; the highest counts"
    )
    default_role: Literal["member"] | None = Field(
        default=None, description="role of everybody whom the provider signs in, if no value gives one; none to refuse them"
    )
    groups_claim: str | None = Field(default=None, min_length=1, description="claim with the groups of a person")
    groups: dict[str, str] = Field(default={}, description="group by value of this claim; with none, every value is a group of that name")
    tenant_claim: str | None = Field(
        default=None, min_length=1, description="claim with the tenant of a person; members without it are refused"
    )
    audiences: tuple[str, ...] = Field(
        default=(), description="audiences of the provider's access tokens (JWT) that the API accepts; none to accept no such tokens"
    )
    algorithms: tuple[Algorithm, ...] = Field(
        default=("RS256", "PS256", "ES256", "Ed25519"), min_length=1, description="accepted signatures of the provider's tokens"
    )
    leeway: int = Field(default=60, ge=0, le=300, description="seconds by which the clocks of the provider and of this host may differ")
    hours: float = Field(default=12, gt=0, description="hours after which a person signs in again; at most `session_hours`")
    seconds: float = Field(default=10, gt=0, le=60, description="maximum seconds of a request to the provider")
    sign_out: bool = Field(default=True, description="offer to sign out of the provider too, if it supports that")

    @field_validator("issuer")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not _is_endpoint(value, loopback=True):
            raise ValueError("the issuer must be a URL with https, without a query (http only on this machine)")
        return value

    @field_validator("client_secret")
    @classmethod
    def _sendable(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and (not value.get_secret_value() or not value.get_secret_value().isascii()):
            raise ValueError("the secret must have ASCII characters only, and at least one")
        return value

    @model_validator(mode="after")
    def _complete(self) -> OpenIdSettings:
        if self.issuer is None:
            if self.model_fields_set - {"issuer"}:
                raise ValueError(f"issuer is not set, so {', '.join(sorted(self.model_fields_set - {'issuer'}))} has no effect; set it")
            return self
        if self.client_id is None:
            raise ValueError("client_id is not set: the provider shows it where this host is registered")
        if bool(self.roles) != bool(self.role_claims):
            absent = "role_claims" if self.roles else "roles"
            raise ValueError(f"{absent} is not set: `role_claims` names the claims, and `roles` the role for each of their values")
        if not self.roles and self.default_role is None:
            raise ValueError('nobody could sign in: set role_claims and roles, or default_role = "member"')
        if self.groups and self.groups_claim is None:
            raise ValueError("groups_claim is not set, so groups has no effect; set it")
        if "openid" not in self.scopes:
            raise ValueError("scopes must include openid")
        return self

    @property
    def fingerprint(self) -> str:
        """Changes with every setting that decides who a person is: sessions that began under another one are over."""
        decisive = self.model_dump(
            mode="json",
            include={
                "issuer",
                "client_id",
                "name_claim",
                "trust_email",
                "role_claims",
                "roles",
                "default_role",
                "groups_claim",
                "groups",
                "tenant_claim",
            },
        )
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]


def _is_endpoint(url: object, *, loopback: bool) -> bool:
    """Whether a value is a URL that tokens and secrets may be sent to: with TLS, or on this machine."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        name, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if not name or parts.query or parts.fragment or parts.username is not None or parts.password is not None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and loopback and is_loopback(name))


@dataclass(frozen=True)
class Metadata:
    """What the discovery document of a provider says, as far as it is used."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    #: how clients authenticate at the token endpoint
    token_auth_methods: tuple[str, ...] = ("client_secret_basic",)
    #: None if the document does not mention PKCE
    challenge_methods: tuple[str, ...] | None = None
    signing_algorithms: tuple[str, ...] = ()
    #: whether every answer names the issuer (RFC 9207)
    names_issuer: bool = False


def metadata_from(document: object, issuer: str) -> Metadata:
    """Check a discovery document. Raises `ProviderFault`, with words for an admin."""
    if not isinstance(document, dict):
        raise ProviderFault("The discovery document of the provider is not a JSON object.")
    if document.get("issuer") != issuer:
        raise ProviderFault(
            f"The discovery document names the issuer {str(document.get('issuer'))[:300]!r}, but the setting is {issuer!r}.",
            fix="Set `issuer` of [oidc] to exactly the name in the document.",
        )
    loopback = issuer.startswith("http://")

    def endpoint(name: str) -> str:
        if not _is_endpoint(str(document.get(name)).partition("?")[0], loopback=loopback):
            raise ProviderFault(f"The discovery document of the provider has no valid {name} with https.")
        return str(document[name])

    def texts(name: str) -> tuple[str, ...] | None:
        values = document.get(name)
        return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else None

    return Metadata(
        issuer=issuer,
        authorization_endpoint=endpoint("authorization_endpoint"),
        token_endpoint=endpoint("token_endpoint"),
        jwks_uri=endpoint("jwks_uri"),
        userinfo_endpoint=endpoint("userinfo_endpoint") if document.get("userinfo_endpoint") else None,
        end_session_endpoint=endpoint("end_session_endpoint") if document.get("end_session_endpoint") else None,
        token_auth_methods=texts("token_endpoint_auth_methods_supported") or ("client_secret_basic",),
        challenge_methods=texts("code_challenge_methods_supported"),
        signing_algorithms=texts("id_token_signing_alg_values_supported") or (),
        names_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )


def claim_at(claims: Mapping[str, Any], path: str) -> Any:
    """The value of a claim, which may be nested: `realm_access.roles`. A name that itself contains dots is found too."""
    if path in claims:
        return claims[path]
    for place, character in enumerate(path):
        if character == "." and isinstance(inner := claims.get(path[:place]), Mapping):
            value = claim_at(inner, path[place + 1 :])
            if value is not None:
                return value
    return None


def _texts_at(claims: Mapping[str, Any], path: str, settings: OpenIdSettings) -> list[str]:
    """The texts of a claim: of a list each of its texts. An e-mail address counts only if it was verified, or is trusted."""
    value = claim_at(claims, path)
    if path == "email":
        verified = claims.get("email_verified")
        if verified is not True and verified != "true" and not (verified is None and settings.trust_email):
            return []
    values = value if isinstance(value, list) else [value]
    return [str(text) for text in values if isinstance(text, str | int) and not isinstance(text, bool) and text != ""]


def person_id(issuer: str, subject: str) -> str:
    """The id of a person, in the place of a key's: the same for every sign-in, whatever their name is."""
    return PERSON_PREFIX + hashlib.sha256(json.dumps([issuer, subject]).encode()).hexdigest()[:32]


def principal_from(claims: Mapping[str, Any], settings: OpenIdSettings) -> Principal:
    """The principal of a person. Raises `PersonRefused`, whose `reason` says which setting gives them nothing."""
    subject, issuer = claims.get("sub"), settings.issuer or ""
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise SignInFailed(f"{settings.name} did not say who you are.")

    def refused(reason: str) -> PersonRefused:
        return PersonRefused(f"Your account at {settings.name} has no access to this host.", f"the person with sub {subject!r}: {reason}")

    names = _texts_at(claims, settings.name_claim, settings)
    if len(names) != 1:
        unverified = settings.name_claim == "email" and claims.get("email") is not None
        why = "was not verified by the provider (see trust_email)" if unverified else f"has {len(names)} values instead of one"
        raise refused(f"the claim {settings.name_claim!r} of name_claim {why}; the claims are {_listed(claims)}")
    name = names[0].strip()
    if not name or len(name) > _MAX_NAME or not name.isprintable() or name in _RESERVED_NAMES:
        raise refused(f"{name[:_MAX_NAME]!r} cannot be the name of a person")
    role = _role_of(claims, settings)
    if role is None:
        claimed = ", ".join(settings.role_claims)
        raise refused(
            f"no value of {claimed or 'role_claims'} has a role in `roles`, and default_role is not set; the claims are {_listed(claims)}"
        )
    tenants = [] if settings.tenant_claim is None else _texts_at(claims, settings.tenant_claim, settings)
    if settings.tenant_claim is not None and (len(tenants) > 1 or (not tenants and role is Role.MEMBER)):
        raise refused(f"the claim {settings.tenant_claim!r} of tenant_claim has {len(tenants)} values instead of one")
    if any(len(tenant) > _MAX_TENANT or not tenant.isprintable() for tenant in tenants):
        raise refused(f"the claim {settings.tenant_claim!r} of tenant_claim is too long, or has control characters")
    groups = _groups_of(claims, settings)
    if len(groups) > _MAX_GROUPS or any(len(group) > _MAX_GROUP or not group.isprintable() for group in groups):
        limits = f"over {_MAX_GROUPS} groups, or one of over {_MAX_GROUP} characters or with control characters"
        raise refused(f"the claim {settings.groups_claim!r} has {limits}; name those that count in `groups`")
    return Principal(name, role, groups, tenants[0] if tenants else None, person_id(issuer, subject))


def _role_of(claims: Mapping[str, Any], settings: OpenIdSettings) -> Role | None:
    """The highest role that a claim gives, or the default one."""
    values = [value for path in settings.role_claims for value in _texts_at(claims, path, settings)]
    roles = [Role[settings.roles[value].upper()] for value in values if value in settings.roles]
    if settings.default_role is not None:
        roles.append(Role[settings.default_role.upper()])
    return max(roles, default=None)


def _groups_of(claims: Mapping[str, Any], settings: OpenIdSettings) -> frozenset[str]:
    values = [] if settings.groups_claim is None else _texts_at(claims, settings.groups_claim, settings)
    return frozenset(settings.groups[value] for value in values if value in settings.groups) if settings.groups else frozenset(values)


def _listed(claims: Mapping[str, Any]) -> str:
    """The names of the claims, without their values, for the log."""
    return ", ".join(sorted(map(str, claims))[:40])[:500]

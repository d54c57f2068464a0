"""A provider of OpenID Connect: its documents and keys, the sign-in of a person, and the verification of its tokens.

Imported only by a host with `[oidc]` in its settings, because it needs authlib. Requests go through the guarded client: to the issuer that
the settings name, and otherwise to public addresses and those of `outgoing_allow`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
from collections import OrderedDict
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlencode, urlsplit

from gateleg.extras import explained

try:
    from authlib.oauth2.auth import ClientAuth
    from authlib.oauth2.claims import JWTClaims
    from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
    from authlib.oauth2.rfc7636 import create_s256_code_challenge
    from authlib.oidc.core import CodeIDToken
    from authlib.oidc.discovery import get_well_known_url
    from joserfc import jws, jwt
    from joserfc.errors import ClaimError, ExpiredTokenError, JoseError
    from joserfc.jwk import ECKey, OKPKey, RSAKey
except ModuleNotFoundError as error:
    raise explained(error) from error

from gateleg.host.errors import KeyExpired, KeyRefused, Refusal
from gateleg.host.openid import Metadata, PersonRefused, ProviderAway, ProviderFault, SignInFailed, metadata_from, principal_from
from gateleg.net import Guard
from gateleg.net.errors import AddressRefused, OutgoingError
from gateleg.net.http import GuardedClient, HttpRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from gateleg.host.openid import OpenIdSettings
    from gateleg.host.principal import Principal
    from gateleg.host.secrets import Secrets
    from gateleg.host.settings import Settings

__all__ = ["Attempt", "OpenIdProvider", "SignedInPerson"]

_log = logging.getLogger("gateleg.web")

T = TypeVar("T")
PublicKey = RSAKey | ECKey | OKPKey
_KEY_TYPES: dict[str, type[PublicKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
#: Seconds for which a document is kept; and, while the provider does not answer, used nevertheless.
_FRESH_SECONDS, _STALE_SECONDS = 3_600.0, 86_400.0
#: Seconds between two requests for the same document: for an unknown key, and after a failure.
_APART_SECONDS = 10.0
_MAX_DOCUMENT = 1_000_000
_MAX_KEYS = 100
_MAX_TOKEN = 16_384
_SMALLEST_RSA_BITS = 2_048
#: Seconds for which a verified access token is not verified again, so that a key that the provider withdraws ends its tokens.
_VERIFIED_SECONDS = 300.0
_MAX_VERIFIED = 10_000


@dataclass(frozen=True)
class Attempt:
    """A sign-in that has begun. The browser keeps all but `url` until it comes back from the provider."""

    url: str
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)


@dataclass(frozen=True)
class SignedInPerson:
    """A person whom the provider has signed in."""

    principal: Principal
    #: names the person's session at the provider when they sign out
    id_token: str = field(repr=False)


class _Kept(Generic[T]):
    """A document of the provider: loaded when it is needed, kept for an hour and, while the provider does not answer, for a day."""

    def __init__(self, load: Callable[[], Awaitable[T]], ticks: Callable[[], float]) -> None:
        self._load = load
        self._ticks = ticks
        self._value: tuple[float, T] | None = None
        self._failure: tuple[float, Refusal] | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> T:
        """The document."""
        return await self._newer_than(_FRESH_SECONDS)

    async def again(self) -> T:
        """The document, loaded anew unless that was just done: callers can ask for it as often as they like."""
        return await self._newer_than(_APART_SECONDS)

    async def _newer_than(self, seconds: float) -> T:
        value = self._value
        # While somebody else waits for a slow provider, what is a little old is good enough.
        enough = _STALE_SECONDS if self._lock.locked() and seconds == _FRESH_SECONDS else seconds
        if value is not None and self._age(value) < enough:
            return value[1]
        async with self._lock:
            if self._value is not None and self._age(self._value) < seconds:
                return self._value[1]
            if self._failure is None or self._age(self._failure) >= _APART_SECONDS:
                try:
                    document = await self._load()
                except Refusal as error:
                    self._failure = (self._ticks(), error)
                    _log.warning("sign-in provider: %s", error.message)
                else:
                    self._value, self._failure = (self._ticks(), document), None
                    return document
            if self._value is not None and self._age(self._value) < _STALE_SECONDS:
                return self._value[1]
            assert self._failure is not None
            raise copy(self._failure[1])

    def _age(self, entry: tuple[float, object]) -> float:
        return self._ticks() - entry[0]


class OpenIdProvider:
    """The provider that the settings of a host name."""

    def __init__(
        self,
        settings: OpenIdSettings,
        client: GuardedClient,
        host_secrets: Secrets,
        *,
        now: Callable[[], datetime],
        ticks: Callable[[], float],
        check_tenant: Callable[[str], None] = lambda tenant: None,
    ) -> None:
        assert settings.issuer is not None
        assert settings.client_id is not None
        self.settings = settings
        self.issuer = settings.issuer
        self._client_id = settings.client_id
        self._client = client
        self._secrets = host_secrets
        self._now = now
        self._ticks = ticks
        self._check_tenant = check_tenant
        self._metadata = _Kept(self._load_metadata, ticks)
        self._keys = _Kept(self._load_keys, ticks)
        #: by digest: when it was verified, when the token expires, and whose it is
        self._verified: OrderedDict[bytes, tuple[float, float, Principal]] = OrderedDict()

    async def begin(self, redirect_uri: str, *, ask_again: bool = False) -> Attempt:
        """Begin a sign-in: the address to send the browser to, and what to compare when it comes back.

        With `ask_again`, the provider asks who the person is even if they are signed in there.
        """
        metadata = await self._metadata.get()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        url = prepare_grant_uri(
            metadata.authorization_endpoint,
            self._client_id,
            "code",
            redirect_uri=redirect_uri,
            scope=list(self.settings.scopes),
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
            prompt="login" if ask_again else None,
        )
        return Attempt(url, state, nonce, verifier)

    async def finish(self, answer: Mapping[str, str], attempt: Attempt, redirect_uri: str) -> SignedInPerson:
        """Complete a sign-in with the parameters that the browser brought back from the provider."""
        metadata = await self._metadata.get()
        if not secrets.compare_digest(answer.get("state", "").encode(), attempt.state.encode()):
            raise SignInFailed("The answer belongs to another sign-in.")
        if answer.get("iss", self.issuer) != self.issuer or (metadata.names_issuer and "iss" not in answer):
            raise SignInFailed("The answer does not come from the provider of this host.")
        if problem := answer.get("error"):
            raise self._refused_by_provider(problem)
        if not (code := answer.get("code")):
            raise SignInFailed(f"{self.settings.name} sent no code.")
        tokens = await self._exchange(metadata, code, attempt, redirect_uri)
        id_token = tokens.get("id_token")
        if not isinstance(id_token, str):
            raise ProviderFault(f"{self.settings.name} sent no ID token.")
        claims = await self._id_claims(id_token, tokens, attempt.nonce)
        if self.settings.userinfo:
            claims = await self._with_userinfo(metadata, claims, tokens)
        return SignedInPerson(self._principal(claims), id_token)

    async def recognise(self, token: str) -> Principal:
        """The principal of an access token (JWT). Raises `KeyRefused` or `KeyExpired`. No request is made for keys that are known."""
        if not self.settings.audiences:
            raise KeyRefused("This host accepts API keys, and no tokens of its sign-in provider.", fix="Send an API key.")
        digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        known, now = self._verified.get(digest), self._now().timestamp()
        if known is not None and self._ticks() - known[0] < _VERIFIED_SECONDS and now < known[1] + self.settings.leeway:
            self._verified.move_to_end(digest)
            return known[2]
        self._verified.pop(digest, None)
        try:
            claims = await self._access_claims(token)
            principal = self._principal(claims)
        except PersonRefused as error:
            raise KeyRefused("The token gives no access to this host.", fix=error.fix) from None
        self._verified[digest] = (self._ticks(), float(claims["exp"]), principal)
        if len(self._verified) > _MAX_VERIFIED:
            self._verified.popitem(last=False)
        return principal

    async def sign_out_url(self, id_token: str | None, return_to: str) -> str | None:
        """The address at which a browser signs out of the provider too; None if there is none."""
        if not self.settings.sign_out:
            return None
        try:
            endpoint = (await self._metadata.get()).end_session_endpoint
        except Refusal:
            return None
        if endpoint is None:
            return None
        hint = {} if id_token is None else {"id_token_hint": id_token}
        return f"{endpoint}{'&' if '?' in endpoint else '?'}" + urlencode(
            {**hint, "client_id": self._client_id, "post_logout_redirect_uri": return_to}
        )

    async def examine(self) -> tuple[Metadata, int]:
        """What the provider says at this moment, and how many usable keys it has. For `gateleg doctor`."""
        metadata = await self._load_metadata()
        keys = await self._load_keys(metadata)
        await self._secret()
        return metadata, len(keys)

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        try:
            principal = principal_from(claims, self.settings)
            if principal.tenant is not None:
                self._check_tenant(principal.tenant)
        except PersonRefused as error:
            _log.warning("sign-in refused: %s", error.reason)
            raise
        except SignInFailed:
            raise
        except Refusal as error:
            _log.warning("sign-in refused: the person with sub %r: %s", claims.get("sub"), error.message)
            raise PersonRefused(f"Your account at {self.settings.name} has no access to this host.", error.message) from None
        return principal

    def _refused_by_provider(self, problem: str) -> Refusal:
        """The error for an error code in the provider's answer, which comes through the browser and is not shown as it is."""
        if problem == "access_denied":
            return SignInFailed(f"{self.settings.name} did not sign you in, or you cancelled it.")
        if problem in ("temporarily_unavailable", "server_error"):
            return ProviderAway(f"{self.settings.name} cannot sign anybody in at the moment.")
        return ProviderFault(f"The authorization endpoint of {self.settings.name} answered with the error {problem[:200]!r}.")

    async def _exchange(self, metadata: Metadata, code: str, attempt: Attempt, redirect_uri: str) -> dict[str, Any]:
        """The tokens for a code."""
        secret = await self._secret()
        method = "none" if secret is None else _auth_method(metadata.token_auth_methods)
        body = prepare_token_request("authorization_code", redirect_uri=redirect_uri, code=code, code_verifier=attempt.verifier)
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        url, headers, body = ClientAuth(self._client_id, secret, method).prepare("POST", metadata.token_endpoint, headers, body)
        status, document = await self._fetch(HttpRequest(url, body.encode(), headers), "token endpoint")
        if status == 200 and isinstance(document, dict):
            return document
        problem = str(document.get("error", ""))[:200] if isinstance(document, dict) else ""
        if problem == "invalid_grant":
            raise SignInFailed("The sign-in is too old, or was used before.")
        if status >= 500:
            raise ProviderAway(f"{self.settings.name} has failed: its token endpoint answered with {status}.")
        if problem in ("invalid_client", "unauthorized_client"):
            raise ProviderFault(f"{self.settings.name} does not accept the client id or the secret of this host.")
        raise ProviderFault(f"The token endpoint of {self.settings.name} answered with {status} {problem!r}.")

    async def _secret(self) -> str | None:
        if self.settings.client_secret is None:
            return None
        try:
            return await self._secrets.resolve(self.settings.client_secret.get_secret_value())
        except Refusal as error:
            raise ProviderFault(f"The secret of this host at {self.settings.name} cannot be read: {error.message}", fix=error.fix) from None

    async def _id_claims(self, token: str, tokens: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        try:
            header, claims = await self._decode(token)
            options = {"iss": {"essential": True, "value": self.issuer}, "aud": {"essential": True, "value": self._client_id}}
            params = {"nonce": nonce, "client_id": self._client_id, "access_token": tokens.get("access_token")}
            verified = CodeIDToken(claims, header, options, params)
            verified.validate(now=int(self._now().timestamp()), leeway=self.settings.leeway)
        except _INVALID as error:
            # The log has the reason; a person can do nothing about a claim.
            _log.warning("sign-in provider: the ID token is not valid: %s", _reason(error))
            if isinstance(error, ExpiredTokenError):
                raise SignInFailed(f"The sign-in at {self.settings.name} has expired.") from None
            raise SignInFailed(f"The answer of {self.settings.name} is not valid for this sign-in.") from None
        return claims

    async def _access_claims(self, token: str) -> dict[str, Any]:
        try:
            header, claims = await self._decode(token)
            options = {
                "iss": {"essential": True, "value": self.issuer},
                "aud": {"essential": True, "values": list(self.settings.audiences)},
                "exp": {"essential": True},
                "sub": {"essential": True},
            }
            JWTClaims(claims, header, options).validate(now=int(self._now().timestamp()), leeway=self.settings.leeway)
        except ExpiredTokenError:
            raise KeyExpired("The token has expired.", fix="Get a new one from the provider.") from None
        except _INVALID as error:
            raise KeyRefused(
                f"The token is not valid: {_reason(error)}.", fix="Get an access token for this host from its provider."
            ) from None
        if not {"nonce", "at_hash", "c_hash"}.isdisjoint(claims):
            # Programs that see ID tokens of a sign-in must not be able to call the API with them.
            raise KeyRefused("The token is an ID token.", fix="Send an access token.")
        return claims

    async def _decode(self, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The header and the claims of a token whose signature is valid. A key id that is not known yet is looked for once."""
        if len(token) > _MAX_TOKEN or not token.isascii():
            raise ValueError("it is too long, or has other characters than a token")
        header = jws.extract_compact(token.encode()).headers()
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in self.settings.algorithms:
            raise ValueError(f"its signature {str(algorithm)[:20]!r} is not one of `algorithms`")
        keys = _candidates(await self._keys.get(), key_id, algorithm) or _candidates(await self._keys.again(), key_id, algorithm)
        problem: Exception = ValueError("no key of the provider has made its signature")
        for key in keys:
            registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
            try:
                verified = jwt.decode(token, key, registry=registry)
            except JoseError as error:
                problem = error
            else:
                return header, _with_sane_times(verified.claims)
        raise problem

    async def _with_userinfo(self, metadata: Metadata, claims: dict[str, Any], tokens: Mapping[str, Any]) -> dict[str, Any]:
        """The claims together with those of the userinfo endpoint, which must be about the same person."""
        access_token = tokens.get("access_token")
        if metadata.userinfo_endpoint is None or not isinstance(access_token, str):
            raise ProviderFault(f"{self.settings.name} has no userinfo endpoint, or sent no access token for it.")
        headers = {"authorization": f"Bearer {access_token}", "accept": "application/json"}
        status, document = await self._fetch(HttpRequest(metadata.userinfo_endpoint, b"", headers, "GET"), "userinfo endpoint")
        if status != 200 or not isinstance(document, dict):
            raise ProviderFault(f"The userinfo endpoint of {self.settings.name} answered with {status}.")
        if document.get("sub") != claims.get("sub"):
            raise SignInFailed(f"The answer of {self.settings.name} is about somebody else.")
        # What is signed wins.
        return {**document, **claims}

    async def _load_metadata(self) -> Metadata:
        url = get_well_known_url(self.issuer, external=True)
        return metadata_from(await self._document(url, "discovery document"), self.issuer)

    async def _load_keys(self, metadata: Metadata | None = None) -> list[PublicKey]:
        url = (metadata or await self._metadata.get()).jwks_uri
        document = await self._document(url, "key set")
        entries = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(entries, list):
            raise ProviderFault("The key set of the provider is not valid.")
        keys = [key for entry in entries[:_MAX_KEYS] if (key := _public_key(entry)) is not None]
        if not keys:
            raise ProviderFault("The provider has no key that signatures can be verified with.")
        return keys

    async def _document(self, url: str, name: str) -> Any:
        status, document = await self._fetch(HttpRequest(url, b"", {"accept": "application/json"}, "GET"), name)
        if status != 200 or document is None:
            if status >= 500:
                raise ProviderAway(f"{self.settings.name} has failed: its {name} was answered with {status}.")
            raise ProviderFault(f"The {name} at {url} was answered with {status}{'' if document else ', and not in JSON'}.")
        return document

    async def _fetch(self, request: HttpRequest, name: str) -> tuple[int, Any]:
        """The status and the JSON of an answer; None for anything else. Redirects are not followed: they could lead a secret away."""
        try:
            response = await self._client.fetch(request)
        except AddressRefused as error:
            raise ProviderFault(f"The {name} of {self.settings.name}: {error.message}", fix=error.fix) from None
        except OutgoingError as error:
            _log.warning("sign-in provider: the %s: %s", name, error.message)
            raise ProviderAway(f"{self.settings.name} does not answer.") from None
        try:
            return response.status, json.loads(response.body)
        except (ValueError, RecursionError):
            return response.status, None


#: What authlib and joserfc raise for tokens that are not valid, also for those with values of unexpected types.
_INVALID = (JoseError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


def _reason(error: Exception) -> str:
    """What is wrong with a token, without its content."""
    if isinstance(error, ClaimError):
        return f"its claim {getattr(error, 'claim', None) or error} is missing or is not for this host"
    if isinstance(error, JoseError):
        return str(error.description or error.error).rstrip(".")[:200]
    return str(error)[:200] if type(error) is ValueError else "it has unexpected values"


def _with_sane_times(claims: dict[str, Any]) -> dict[str, Any]:
    """The claims, if their times are numbers that can be compared: JSON has infinite ones."""
    for name in ("exp", "iat", "nbf"):
        value = claims.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12):
            raise ValueError(f"its claim {name} is not a time")
    return claims


def _public_key(entry: object) -> PublicKey | None:
    """A key of a key set; None for one that verifies no signature, or that cannot be read."""
    kind = _KEY_TYPES.get(str(entry.get("kty"))) if isinstance(entry, dict) else None
    if kind is None or not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    try:
        # Only what belongs to the key: certificates and other members are of no use.
        key = kind.import_key({name: entry[name] for name in ("kty", "kid", "alg", "n", "e", "crv", "x", "y") if name in entry})
        small = isinstance(key, RSAKey) and key.public_key.key_size < _SMALLEST_RSA_BITS
    except Exception:
        # The library raises many kinds of errors, and one bad entry must not keep the others from being used.
        return None
    return None if small else key


def _candidates(keys: list[PublicKey], key_id: object, algorithm: str) -> list[PublicKey]:
    """The keys that may have made a signature: that of the key id, or without one all of the algorithm's type."""
    kind = {"R": "RSA", "P": "RSA"}.get(algorithm[0], "OKP" if algorithm.startswith("Ed") else "EC")
    return [key for key in keys if key.key_type == kind and key.alg in (None, algorithm) and key_id in (None, key.kid)]


def _auth_method(supported: tuple[str, ...]) -> str:
    methods = ("client_secret_basic", "client_secret_post")
    method = next((method for method in methods if method in supported), None)
    if method is None:
        raise ProviderFault("The provider accepts no client secret: neither in a header nor in the body of the request.")
    return method


def open_provider(
    openid: OpenIdSettings,
    settings: Settings,
    host_secrets: Secrets,
    *,
    now: Callable[[], datetime],
    ticks: Callable[[], float],
    check_tenant: Callable[[str], None],
) -> OpenIdProvider:
    """The provider of a host. Nothing is requested before somebody signs in."""
    parts = urlsplit(openid.issuer or "")
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    # The operator named the issuer, which may be a server of their own network.
    allowed = f"{name}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    guard = Guard((*settings.outgoing_allow, allowed), frozenset(settings.outgoing_ports))
    client = GuardedClient(guard, seconds=openid.seconds, limit=_MAX_DOCUMENT, redirects=0)
    return OpenIdProvider(openid, client, host_secrets, now=now, ticks=ticks, check_tenant=check_tenant)

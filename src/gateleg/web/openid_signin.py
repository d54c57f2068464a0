"""Signing in with a provider of OpenID Connect: the way there, and the way back."""

from __future__ import annotations

import json
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.requests import cookie_parser

from gateleg.host.errors import Refusal, StoreAway
from gateleg.host.openid import PersonRefused, ProviderFault, SignInFailed
from gateleg.net.tokens import DecryptionFailed, decrypt, encrypt
from gateleg.store import StoreError
from gateleg.web.signin import PROVIDER_PATH, base_url, browser_of, entered, is_secure, page_of, safe_next

if TYPE_CHECKING:
    from gateleg.host.host import Host
    from gateleg.host.openid_provider import Attempt, OpenIdProvider

_log = logging.getLogger("gateleg.web")

#: Holds a sign-in that has begun, encrypted, until the provider sends the browser back.
ATTEMPT_COOKIE = "gateleg_signin"
#: Seconds for which a person may be at the provider.
_ATTEMPT_SECONDS = 600
#: Longer places are not kept: a browser stores 4 KB in a cookie.
_MAX_PLACE = 1_000
_PURPOSE = "sign-in attempts"


def openid_routes(host: Host) -> APIRouter:
    """The routes below `/signin/openid`; none for a host without a provider."""
    router = APIRouter(include_in_schema=False)
    if host.openid is not None:
        _add_routes(router, host, host.openid)
    return router


def _add_routes(router: APIRouter, host: Host, provider: OpenIdProvider) -> None:
    @router.get(PROVIDER_PATH)
    async def begin(request: Request, next: str = "/", other_account: bool = False) -> Response:
        place = safe_next(next)
        try:
            back = _callback_url(host, request)
            attempt = await provider.begin(back, ask_again=other_account)
        except Refusal as error:
            return await _failed(host, place, error)
        answer = RedirectResponse(attempt.url, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
        answer.set_cookie(
            ATTEMPT_COOKIE,
            _sealed(host, attempt, place, back),
            max_age=_ATTEMPT_SECONDS,
            path=PROVIDER_PATH,
            secure=is_secure(host, request),
            httponly=True,
            samesite="lax",
        )
        return answer

    @router.get(f"{PROVIDER_PATH}/callback")
    async def callback(request: Request) -> Response:
        place = "/"
        try:
            attempt, place, back = _opened(host, request)
            parameters = request.query_params.multi_items()
            if len({name for name, _ in parameters}) != len(parameters):
                raise SignInFailed("The answer of the provider has a parameter twice.")
            person = await provider.finish(dict(parameters), attempt, back)
            begun = await host.sessions.begin_person(person.principal, person.id_token, browser=browser_of(request))
            answer = await entered(host, request, begun, place)
        except StoreError:
            answer = await _failed(host, place, StoreAway())
        except Refusal as error:
            answer = await _failed(host, place, error)
        # Each sign-in is completed once.
        answer.delete_cookie(ATTEMPT_COOKIE, path=PROVIDER_PATH, httponly=True, samesite="lax")
        return answer


async def _failed(host: Host, place: str, error: Refusal) -> Response:
    """The sign-in page with what happened; it offers keys too, which work while the provider does not."""
    headers = {name: value for name, value in error.headers.items() if name == "Retry-After"}
    if error.public is not None:
        _log.error("sign-in: %s", error)
    return await page_of(host, place, error.public_text, error.status, headers, other_account=isinstance(error, PersonRefused))


def _callback_url(host: Host, request: Request) -> str:
    base = base_url(host, request)
    if base is None:
        raise ProviderFault(
            "The provider cannot be told where to send people back to: the address of this host is not set.", fix="Set `url`."
        )
    return f"{base}{PROVIDER_PATH}/callback"


def _sealed(host: Host, attempt: Attempt, place: str, back: str) -> str:
    """What a browser keeps of a sign-in, so that no other browser can complete it."""
    ends = host.store.setup.now().timestamp() + _ATTEMPT_SECONDS
    kept = [attempt.state, attempt.nonce, attempt.verifier, place if len(place) <= _MAX_PLACE else "/", back, ends]
    return urlsafe_b64encode(encrypt(host.secret.key(_PURPOSE), json.dumps(kept).encode(), b"")).decode()


def _opened(host: Host, request: Request) -> tuple[Attempt, str, str]:
    """The sign-in that a browser has begun, where it wants to go, and the address to which the provider sent it back."""
    from gateleg.host.openid_provider import Attempt

    cookie = cookie_parser(request.headers.get("cookie", "")).get(ATTEMPT_COOKIE, "")
    try:
        sealed = urlsafe_b64decode(cookie.encode("ascii"))
        state, nonce, verifier, place, back, ends = json.loads(decrypt(host.secret.key(_PURPOSE), sealed, b""))
    except (DecryptionFailed, ValueError):
        raise SignInFailed("The sign-in was completed before, took too long, or began in another browser or tab.") from None
    if host.store.setup.now().timestamp() > ends:
        raise SignInFailed("The sign-in took too long.")
    return Attempt("", state, nonce, verifier), place, back

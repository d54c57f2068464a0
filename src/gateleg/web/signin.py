"""Signing in and out."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.requests import cookie_parser

from gateleg.host.credentials import LOCAL_PREFIX, host_name
from gateleg.host.errors import ForeignHost, ForeignOrigin, NotSignedIn, Refusal, StoreAway, TooOften
from gateleg.host.sessions import COOKIE
from gateleg.net import is_loopback
from gateleg.store import StoreError
from gateleg.web.authentication import same_origin
from gateleg.web.headers import plain_page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.host.host import Host
    from gateleg.host.openid_provider import OpenIdProvider
    from gateleg.host.principal import Principal
    from gateleg.host.sessions import NewSession
    from gateleg.web.limits import HostLimits

#: Where a browser begins to sign in with the provider; `/callback` below it is where the provider sends it back.
PROVIDER_PATH = "/signin/openid"


def safe_next(place: str | None) -> str:
    """The target after signing in: always a path of this host."""
    if not place or not place.startswith("/") or place.startswith(("//", "/\\")) or any(ord(character) < 33 for character in place):
        return "/"
    parts = urlsplit(place)
    return "/" if parts.scheme or parts.netloc or parts.path in ("/signin", "/signout") else place


_KEY_IN_LINK = (
    "A link cannot sign in with an API key. Enter the key here, and replace it if it was yours: "
    "browsers and proxies keep the addresses of links."
)
_HINT = "It begins with <code>gl_</code>. The operator of this host creates keys with <code>gateleg keys create</code>."
#: For a host without keys.
_TOKEN_HINT = "This host has no keys yet. Open the link that it printed when it started, or enter what <code>gateleg token</code> prints."


def signin_page(
    next_place: str,
    problem: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    *,
    keys: bool = True,
    provider: str | None = None,
    other_account: bool = False,
) -> Response:
    """The form for a key, or for the token of a host without keys; and the way to the provider with which people sign in.

    With `other_account`, the provider asks who the person is even if they are signed in there.
    """
    state = ' aria-invalid="true"' if problem and provider is None else ""
    note = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
    way, focus, button = "", " autofocus", '<button type="submit">Sign in'
    if provider is not None:
        query = html.escape(urlencode({"next": next_place} | ({"other_account": "1"} if other_account else {})))
        way = f'<a class="first" href="{PROVIDER_PATH}?{query}">Sign in with {html.escape(provider)}</a>\n<p class="or">or</p>'
        focus, button = "", f'<button type="submit" class="second">Sign in with {"a key" if keys else "the token"}'
    body = f"""{note}{way}<form method="post" action="/signin">
<input type="hidden" name="next" value="{html.escape(next_place)}">
<label for="key">{"API key" if keys else "Token of this host"}</label>
<input id="key" name="key" type="password" autocomplete="current-password" spellcheck="false" required{focus}{state}>
<p class="hint">{_HINT if keys else _TOKEN_HINT}</p>
{button}</button>
</form>"""
    return plain_page("Sign in", body, status, headers)


async def page_of(
    host: Host, next_place: str, problem: str | None = None, status: int = 200, headers: Mapping[str, str] | None = None, **options: bool
) -> Response:
    """The sign-in page of a host."""
    try:
        keys = await host.keys.exist()
    except StoreError:
        keys = True
    name = None if host.openid is None else host.openid.settings.name
    return signin_page(next_place, problem, status, headers, keys=keys, provider=name, **options)


def is_secure(host: Host, request: Request) -> bool:
    """Whether browsers reach the host with TLS, so that cookies must never be sent without it."""
    return request.url.scheme == "https" or (host.settings.url or "").startswith("https:")


def browser_of(request: Request) -> str:
    """How a browser names itself."""
    return "".join(character for character in request.headers.get("user-agent", "") if character.isprintable())


async def entered(host: Host, request: Request, begun: NewSession, place: str) -> Response:
    """Give a browser its new session, in place of the one that it had."""
    former = cookie_parser(request.headers.get("cookie", "")).get(COOKIE)
    if former is not None:
        await host.sessions.end(former)
    await host.audit.note(begun.principal, "session.begin", request_id=request.state.request_id)
    answer = RedirectResponse(place, 303, {"Cache-Control": "no-store"})
    answer.set_cookie(
        COOKIE,
        begun.cookie,
        max_age=int((begun.session.ends_at - begun.session.created_at).total_seconds()),
        path="/",
        secure=is_secure(host, request),
        httponly=True,
        samesite="lax",
    )
    return answer


def signin_routes(host: Host, limits: HostLimits) -> APIRouter:
    """`/signin` and `/signout`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/signin")
    async def form(request: Request, next: str = "/", token: str = "") -> Response:
        place = safe_next(next)
        if request.state.principal is not None:
            return RedirectResponse(place, 303)
        if not token:
            return await page_of(host, place)
        if not token.startswith(LOCAL_PREFIX):
            # Another site could sign a browser in with a key of its own by such a link, and links are kept in histories and logs.
            return await page_of(host, place, _KEY_IN_LINK, 400, {"Cache-Control": "no-store"})
        return await begin(request, token, place)

    @router.post("/signin")
    async def signin(request: Request) -> Response:
        given = await _form(request)
        _check_page(request, host)
        return await begin(request, given.get("key", "").strip(), safe_next(given.get("next")))

    async def begin(request: Request, key: str, place: str) -> Response:
        address = request.client.host if request.client else ""
        try:
            begun = await _begin(host, request, key)
            limits.signed_in(address)
            return await entered(host, request, begun, place)
        except StoreError:
            away = StoreAway()
            return await page_of(host, place, f"{away.message} {away.fix}", away.status, away.headers)
        except (NotSignedIn, ForeignHost) as error:
            return await page_of(host, place, *failed(address, error))

    def failed(address: str, error: Refusal) -> tuple[str, int, dict[str, str]]:
        """The response to a wrong key. A right key is accepted regardless of failed attempts from the same address."""
        try:
            limits.failed_attempt(address)
        except TooOften as often:
            return f"{often.message} Try again in {often.headers['Retry-After']} seconds.", often.status, often.headers
        return error.message, error.status, {}

    _add_signout(router, host)
    return router


def _add_signout(router: APIRouter, host: Host) -> None:
    @router.get("/signout")
    async def ask(request: Request) -> Response:
        cookie = request.state.session
        if cookie is None:
            return RedirectResponse("/signin", 303)
        token = host.sessions.csrf_token(cookie)
        principal: Principal = request.state.principal
        everywhere = '<button type="submit" name="everywhere" value="1" class="second">Sign out everywhere</button>'
        provider = ""
        if principal.is_person and host.openid is not None and await host.openid.sign_out_url(None, "") is not None:
            name = html.escape(host.openid.settings.name)
            provider = f'<button type="submit" name="provider" value="1" class="second">Sign out of {name} too</button>'
        body = f"""<p>You are signed in as <strong>{html.escape(principal.name)}</strong>.</p>
<form method="post" action="/signout"><input type="hidden" name="csrf" value="{token}">
<button type="submit">Sign out</button>
{provider}{everywhere if principal.key_id is not None else ""}</form>"""
        return plain_page("Sign out", body)

    @router.post("/signout")
    async def signout(request: Request) -> Response:
        cookie, answer = request.state.session, None
        if cookie is not None:
            given = await _form(request)
            if not host.sessions.csrf_fits(cookie, given.get("csrf", "")):
                raise ForeignOrigin("The form does not belong to this session.", fix="Open /signout and try again.")
            principal: Principal = request.state.principal
            if given.get("provider") and host.openid is not None and principal.is_person:
                answer = await _leave_provider(host.openid, await host.sessions.id_token(cookie), request, host)
            await host.sessions.end(cookie)
            if given.get("everywhere") and principal.key_id is not None:
                await host.sessions.revoke_all(principal.key_id)
            await host.audit.note(principal, "session.end", request_id=request.state.request_id)
        answer = answer or RedirectResponse("/signin", 303)
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
        return answer


async def _leave_provider(provider: OpenIdProvider, id_token: str | None, request: Request, host: Host) -> Response | None:
    """A page that goes on to the provider's sign-out by itself: a form may not lead to another site, by the policy of the page."""
    base = base_url(host, request)
    url = None if base is None else await provider.sign_out_url(id_token, f"{base}/signin")
    if url is None:
        return None
    link = html.escape(url)
    body = f'<p>You are signed out of this host.</p><a class="first" href="{link}">Sign out of {html.escape(provider.settings.name)}</a>'
    return plain_page("Sign out", body, headers={"Refresh": f"0;url={url}", "Referrer-Policy": "no-referrer"})


def base_url(host: Host, request: Request) -> str | None:
    """The URL of the host for browsers, to which a provider sends them back; None if it has to be set."""
    if host.settings.url is not None:
        return host.settings.url
    return f"{request.url.scheme}://{request.headers.get('host', '')}" if is_loopback(host_name(request.headers)) else None


async def _begin(host: Host, request: Request, key: str) -> NewSession:
    """A new session for a key, or for the host's token."""
    if not key.startswith(LOCAL_PREFIX):
        return await host.sessions.begin(key, browser=browser_of(request))
    await host.local.recognise(key, request.scope, request.headers)
    return await host.sessions.begin_local(browser=browser_of(request))


def _check_page(request: Request, host: Host) -> None:
    """Refuse forms of other sites, which could sign a browser in with a key of their own."""
    if not same_origin(request.headers, request.url.scheme, host.settings.url):
        raise ForeignOrigin("The form was sent from a page of another site.")


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form; empty for anything else."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise Refusal("The form must be sent as application/x-www-form-urlencoded.")
    try:
        return dict(parse_qsl((await request.body()).decode("utf-8"), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        raise Refusal("The form is not valid.") from None

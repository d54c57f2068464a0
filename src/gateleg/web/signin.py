"""Signing in and out."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from gateleg.host.credentials import COOKIE, LOCAL_PREFIX
from gateleg.host.errors import ForeignHost, ForeignOrigin, NotSignedIn, Refusal, StoreAway, TooOften
from gateleg.store import StoreError
from gateleg.web.authentication import same_origin
from gateleg.web.headers import plain_page

if TYPE_CHECKING:
    from gateleg.host.credentials import NewSession
    from gateleg.host.host import Host
    from gateleg.web.limits import HostLimits


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
    next_place: str, problem: str | None = None, status: int = 200, headers: dict[str, str] | None = None, *, keys: bool = True
) -> Response:
    """The form for a key, or for the token of a host without keys."""
    state = ' aria-invalid="true"' if problem else ""
    note = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
    body = f"""{note}<form method="post" action="/signin">
<input type="hidden" name="next" value="{html.escape(next_place)}">
<label for="key">{"API key" if keys else "Token of this host"}</label>
<input id="key" name="key" type="password" autocomplete="current-password" spellcheck="false" required autofocus{state}>
<p class="hint">{_HINT if keys else _TOKEN_HINT}</p>
<button type="submit">Sign in</button>
</form>"""
    return plain_page("Sign in", body, status, headers)


def signin_routes(host: Host, limits: HostLimits) -> APIRouter:
    """`/signin` and `/signout`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/signin")
    async def form(request: Request, next: str = "/", token: str = "") -> Response:
        place = safe_next(next)
        if request.state.principal is not None:
            return RedirectResponse(place, 303)
        if not token:
            return signin_page(place, keys=await has_keys())
        if not token.startswith(LOCAL_PREFIX):
            # Another site could sign a browser in with a key of its own by such a link, and links are kept in histories and logs.
            return signin_page(place, _KEY_IN_LINK, 400, {"Cache-Control": "no-store"}, keys=await has_keys())
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
        except StoreError:
            away = StoreAway()
            return signin_page(place, f"{away.message} {away.fix}", away.status, away.headers)
        except (NotSignedIn, ForeignHost) as error:
            return signin_page(place, *failed(address, error), keys=await has_keys())
        limits.signed_in(address)
        await host.audit.note(begun.principal, "session.begin", request_id=request.state.request_id)
        answer = RedirectResponse(place, 303, {"Cache-Control": "no-store"})
        secure = request.url.scheme == "https" or (host.settings.url or "").startswith("https:")
        answer.set_cookie(
            COOKIE,
            begun.cookie,
            max_age=int(host.settings.session_hours * 3600),
            path="/",
            secure=secure,
            httponly=True,
            samesite="lax",
        )
        return answer

    def failed(address: str, error: Refusal) -> tuple[str, int, dict[str, str]]:
        """The response to a wrong key. A right key is accepted regardless of failed attempts from the same address."""
        try:
            limits.failed_attempt(address)
        except TooOften as often:
            return f"{often.message} Try again in {often.headers['Retry-After']} seconds.", often.status, often.headers
        return error.message, error.status, {}

    async def has_keys() -> bool:
        try:
            return await host.keys.exist()
        except StoreError:
            return True

    _add_signout(router, host)
    return router


def _add_signout(router: APIRouter, host: Host) -> None:
    @router.get("/signout")
    async def ask(request: Request) -> Response:
        cookie = request.state.session
        if cookie is None:
            return RedirectResponse("/signin", 303)
        token = host.sessions.csrf_token(cookie)
        everywhere = '<button type="submit" name="everywhere" value="1" class="second">Sign out everywhere</button>'
        body = f"""<p>You are signed in as <strong>{html.escape(request.state.principal.name)}</strong>.</p>
<form method="post" action="/signout"><input type="hidden" name="csrf" value="{token}">
<button type="submit">Sign out</button>
{everywhere if request.state.principal.key_id is not None else ""}</form>"""
        return plain_page("Sign out", body)

    @router.post("/signout")
    async def signout(request: Request) -> Response:
        cookie = request.state.session
        if cookie is not None:
            given = await _form(request)
            if not host.sessions.csrf_fits(cookie, given.get("csrf", "")):
                raise ForeignOrigin("The form does not belong to this session.", fix="Open /signout and try again.")
            await host.sessions.end(cookie)
            if given.get("everywhere") and request.state.principal.key_id is not None:
                await host.keys.end_sessions(request.state.principal.key_id)
            await host.audit.note(request.state.principal, "session.end", request_id=request.state.request_id)
        answer = RedirectResponse("/signin", 303)
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
        return answer


async def _begin(host: Host, request: Request, key: str) -> NewSession:
    """A new session for a key, or for the host's token."""
    if not key.startswith(LOCAL_PREFIX):
        return await host.sessions.begin(key)
    await host.local.recognise(key, request.scope, request.headers)
    return await host.sessions.begin_local()


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

"""Signing in and out."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from gateleg.store import StoreError
from gateleg.web.errors import ForeignOrigin, NotSignedIn, Refusal, StoreAway, TooOften
from gateleg.web.gate import same_origin
from gateleg.web.plain import plain_page
from gateleg.web.sessions import COOKIE

if TYPE_CHECKING:
    from gateleg.web.host import Host
    from gateleg.web.limits import Limits


def safe_next(place: str | None) -> str:
    """Where to go after signing in: a path of this host, whatever was asked for."""
    if not place or not place.startswith("/") or place.startswith(("//", "/\\")) or any(ord(character) < 33 for character in place):
        return "/"
    parts = urlsplit(place)
    return "/" if parts.scheme or parts.netloc or parts.path in ("/signin", "/signout") else place


def signin_page(next_place: str, problem: str | None = None, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """The form that takes a key."""
    state = ' aria-invalid="true"' if problem else ""
    note = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
    body = f"""{note}<form method="post" action="/signin">
<input type="hidden" name="next" value="{html.escape(next_place)}">
<label for="key">Your key</label>
<input id="key" name="key" type="password" autocomplete="current-password" spellcheck="false" required autofocus{state}>
<p class="hint">It begins with <code>gl_</code>. Whoever runs this host makes keys with <code>gateleg keys create</code>.</p>
<button type="submit">Sign in</button>
</form>"""
    return plain_page("Sign in", body, status, headers)


def signin_routes(host: Host, limits: Limits) -> APIRouter:
    """`/signin` and `/signout`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/signin")
    async def form(request: Request, next: str = "/") -> Response:
        place = safe_next(next)
        return RedirectResponse(place, 303) if request.state.principal is not None else signin_page(place)

    @router.post("/signin")
    async def signin(request: Request) -> Response:
        given = await _form(request)
        place = safe_next(given.get("next"))
        address = request.client.host if request.client else ""
        try:
            _check_page(request, host)
            limits.check_attempt(address)
            begun = await host.sessions.begin(given.get("key", "").strip())
        except TooOften as error:
            return signin_page(place, f"{error.what} Try again in {error.headers['Retry-After']} seconds.", 429, error.headers)
        except StoreError:
            away = StoreAway()
            return signin_page(place, f"{away.what} {away.fix}", away.status, away.headers)
        except NotSignedIn as error:
            limits.failed_attempt(address)
            return signin_page(place, error.what, 401)
        limits.signed_in(address)
        await host.audit.note(begun.principal, "session.begin", request_id=request.state.request_id)
        answer = RedirectResponse(place, 303)
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

    @router.get("/signout")
    async def ask(request: Request) -> Response:
        cookie = request.state.session
        if cookie is None:
            return RedirectResponse("/signin", 303)
        token = host.sessions.csrf_token(cookie)
        body = f"""<p>You are signed in as <strong>{html.escape(request.state.principal.name)}</strong>.</p>
<form method="post" action="/signout"><input type="hidden" name="csrf" value="{token}">
<button type="submit">Sign out</button>
<button type="submit" name="everywhere" value="1" class="second">Sign out everywhere</button></form>"""
        return plain_page("Sign out", body)

    @router.post("/signout")
    async def signout(request: Request) -> Response:
        cookie = request.state.session
        if cookie is not None:
            given = await _form(request)
            if not host.sessions.csrf_fits(cookie, given.get("csrf", "")):
                raise ForeignOrigin("The form is not one of this session.", fix="Open /signout and try again.")
            await host.sessions.end(cookie)
            if given.get("everywhere"):
                await host.keys.end_sessions(request.state.principal.key_id)
            await host.audit.note(request.state.principal, "session.end", request_id=request.state.request_id)
        answer = RedirectResponse("/signin", 303)
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
        return answer

    return router


def signin_place(next_place: str) -> str:
    """The address of the sign-in page that leads on to a place."""
    return "/signin" if next_place == "/" else f"/signin?next={quote(next_place, safe='')}"


def _check_page(request: Request, host: Host) -> None:
    """Another site must not sign a browser in under a key of its own."""
    if not same_origin(request.headers, request.url.scheme, host.settings.url):
        raise ForeignOrigin("The form was sent from a page of another site.")


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form; what is none has no fields."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise Refusal("The form must be sent as application/x-www-form-urlencoded.")
    try:
        return dict(parse_qsl((await request.body()).decode("utf-8"), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        raise Refusal("The form cannot be read.") from None

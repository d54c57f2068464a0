"""A small provider of OpenID Connect that listens on this machine: what it says of itself, its keys, and sign-ins that tests can spoil."""

import asyncio
import base64
import hashlib
import queue
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

Signing = RSAKey | ECKey | OKPKey
CLIENT, SECRET = "gateleg", "a secret at the provider"
ANN = {"sub": "0001", "email": "ann@example.com", "email_verified": True, "realm_access": {"roles": ["ops", "other"]}}
_ALGORITHMS = {"RSA": "RS256", "EC": "ES256", "OKP": "Ed25519"}


def rsa_key(name: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": name})


class Provider:
    """A provider. Its attributes decide what it answers; `asked` counts the requests by path."""

    def __init__(self, url: str, clock: Callable[[], float] = time.time) -> None:
        self.issuer = url
        self.clock = clock
        self.person: dict[str, Any] = dict(ANN)
        self.key: Signing = rsa_key("first")
        self.published: list[Signing] = [self.key]
        #: overrides of claims of the next ID tokens; None removes one
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        #: overrides of the discovery document
        self.says: dict[str, Any] = {}
        self.userinfo: dict[str, Any] = {}
        #: answers by path instead of the usual one: a status
        self.broken: dict[str, int] = {}
        #: paths that answer only when the event is set
        self.slow: dict[str, asyncio.Event] = {}
        self.denies: str | None = None
        #: the people whom it asks who they are, before it sends them back
        self.asks = False
        self.asked: list[str] = []
        self.ended: list[dict[str, list[str]]] = []
        self._codes: dict[str, dict[str, str]] = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discovery),
                Route("/jwks", self._jwks),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/userinfo", self._userinfo),
                Route("/end_session", self._end_session),
            ]
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            self.asked.append(path)
            if path in self.slow:
                await self.slow[path].wait()
            if path in self.broken:
                await JSONResponse({"error": "server_error"}, self.broken[path])(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def rotate(self, key: Signing, *, publish: bool = True) -> None:
        """Sign with another key."""
        self.key = key
        self.published = [key] if publish else self.published

    def sign(self, claims: dict[str, Any], key: Signing | None = None, **header: Any) -> str:
        """A token with these claims."""
        key = key or self.key
        header = {"alg": _ALGORITHMS[key.key_type], "kid": key.kid} | self.header | header
        return jwt.encode({name: value for name, value in header.items() if value is not None}, claims, key, algorithms=[header["alg"]])

    def access_token(self, audience: str | list[str] = "api", **claims: Any) -> str:
        """A token for programs, of this provider's person."""
        now = int(self.clock())
        own = {"iss": self.issuer, "aud": audience, "iat": now, "exp": now + 300, **self.person, **claims}
        return self.sign({name: value for name, value in own.items() if value is not None})

    async def _discovery(self, request: Request) -> Response:
        document = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "end_session_endpoint": f"{self.issuer}/end_session",
            "code_challenge_methods_supported": ["S256"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
            "authorization_response_iss_parameter_supported": True,
        } | self.says
        return JSONResponse({name: value for name, value in document.items() if value is not None})

    async def _jwks(self, request: Request) -> Response:
        return JSONResponse({"keys": [key.as_dict(private=False, use="sig") for key in self.published]})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert (asked["client_id"], asked["response_type"], asked["code_challenge_method"]) == (CLIENT, "code", "S256")
        if self.denies is not None:
            return self._back(asked, error=self.denies)
        if self.asks and "consent" not in asked:
            link = "/authorize?" + urlencode(asked | {"consent": "1"})
            return HTMLResponse(f'<title>Provider</title><h1>Who are you?</h1><a href="{link.replace("&", "&amp;")}">I am Ann</a>')
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        return self._back(asked, code=code)

    def _back(self, asked: dict[str, str], **answer: str) -> Response:
        return RedirectResponse(asked["redirect_uri"] + "?" + urlencode({**answer, "state": asked["state"], "iss": self.issuer}), 302)

    async def _token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        if not self._is_client(request, form):
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self._codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(self.clock())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.person, **self.claims}
        token = self.sign({name: value for name, value in claims.items() if value is not None})
        return JSONResponse({"access_token": "for userinfo", "token_type": "Bearer", "id_token": token})

    def _is_client(self, request: Request, form: dict[str, str]) -> bool:
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            return base64.b64decode(value).decode() == f"{CLIENT}:{SECRET}"
        return (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)

    async def _userinfo(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer for userinfo"
        return JSONResponse({"sub": self.person["sub"], **self.userinfo})

    async def _end_session(self, request: Request) -> Response:
        asked = parse_qs(request.url.query)
        self.ended.append(asked)
        return RedirectResponse(asked["post_logout_redirect_uri"][0], 302)


@contextmanager
def provider_in_thread() -> Iterator[Provider]:
    """A provider that listens for the length of the block, beside a test that waits for a browser."""
    ready: queue.Queue[tuple[Provider, asyncio.AbstractEventLoop, asyncio.Event]] = queue.Queue()

    async def run() -> None:
        async with running_provider() as provider:
            done = asyncio.Event()
            ready.put((provider, asyncio.get_running_loop(), done))
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    provider, loop, done = ready.get(timeout=30)
    try:
        yield provider
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(30)


@asynccontextmanager
async def running_provider(clock: Callable[[], float] = time.time) -> AsyncIterator[Provider]:
    """A provider that listens for the length of the block."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    provider = Provider(f"http://127.0.0.1:{listener.getsockname()[1]}", clock)
    server = uvicorn.Server(uvicorn.Config(provider, log_config=None, lifespan="off"))
    serving = asyncio.ensure_future(server.serve([listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield provider
    finally:
        for event in provider.slow.values():
            event.set()
        server.should_exit = True
        await serving

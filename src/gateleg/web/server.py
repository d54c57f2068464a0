"""Serving: a socket, a server on it, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import shlex
import socket
from typing import TYPE_CHECKING

import uvicorn

from gateleg.host.errors import Refusal
from gateleg.host.settings import DEFAULT, FILE, PREFIX, format_setting
from gateleg.net import is_loopback
from gateleg.web.connections import BoundedWebSocket, bounded_http

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp

    from gateleg.host.host import Host
    from gateleg.host.settings import Settings

_log = logging.getLogger("gateleg.web")
#: Seconds for running requests to finish during shutdown.
_GRACE = 10
#: Seconds for which a connection may wait for its next request.
_IDLE = 5


class HostOpenToAll(Refusal):
    """Other machines could reach the host while no key is needed."""

    code = "open-to-all"
    fix = "Create a key first with `gateleg keys create NAME --role admin`, or listen on 127.0.0.1."


def _store_options(settings: Settings) -> str:
    """The options with which another command finds the host's store, if it needs any."""
    found = ""
    for name, value in (("store", settings.store), ("prefix", settings.prefix)):
        origin = settings.origin(name)
        if origin not in (DEFAULT, FILE) and not origin.startswith(PREFIX):
            found += f" --{name} {shlex.quote(format_setting(value))}"
    return found


class CannotListen(Refusal):
    """The host cannot listen on the address."""

    fix = "Choose another port with --port; 0 for a free one."


async def check_reach(host: Host) -> None:
    """Refuse to be reachable from other machines while no key exists."""
    settings = host.settings
    if is_loopback(settings.host):
        return
    if not await host.keys.exist():
        what = f"No API key exists yet in {format_setting(settings.store)}, but {settings.host} can be reached from other machines."
        raise HostOpenToAll(
            what, fix=f"Create a key first with `gateleg keys create NAME --role admin{_store_options(settings)}`, or listen on 127.0.0.1."
        )
    if settings.tls_cert is None and not (settings.url or "").startswith("https:"):
        _log.warning("Keys and sessions are sent unencrypted: set tls_cert, or set url to the https address of a proxy.")


def listen(settings: Settings) -> socket.socket:
    """A socket on the configured address."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise CannotListen(f"Unknown address {settings.host!r} here.", fix="Check the setting `host`.") from None
    family, _, _, _, address = found[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise CannotListen(_listen_problem(error, settings)) from None
    listener.setblocking(False)
    return listener


def _listen_problem(error: OSError, settings: Settings) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {settings.port} of {settings.host} is already in use."
    if error.errno == errno.EACCES:
        return f"Port {settings.port} needs more permissions than this user has."
    return f"{settings.host}:{settings.port} cannot be used: {error.strerror or error}."


def address_of(listener: socket.socket, settings: Settings) -> str:
    """The URL of the host for browsers."""
    if settings.url is not None:
        return settings.url
    name, port = listener.getsockname()[:2]
    if name in ("0.0.0.0", "::"):
        name = "127.0.0.1"
    scheme = "http" if settings.tls_cert is None else "https"
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}"


class BadCertificate(Refusal):
    """The TLS certificate or its key cannot be used."""

    fix = "Check the settings tls_cert and tls_key."


def _check_certificate(config: uvicorn.Config, settings: Settings) -> None:
    """Load the certificate now, to report its problems clearly."""
    try:
        config.load()
    except (OSError, ValueError) as error:
        raise BadCertificate(f"{settings.tls_cert} cannot be used: {getattr(error, 'strerror', None) or error}.") from None


class _QuietServer(uvicorn.Server):
    """A server that leaves signals to the caller."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


async def serve(
    host: Host,
    app: ASGIApp,
    listener: socket.socket,
    *,
    stop: asyncio.Event,
    ready: Callable[[], None],
    first: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve until `stop` is set. Then running requests get some seconds to finish, and streams are closed at once.

    `first` is awaited when requests can be answered, before `ready` is called.
    """
    settings = host.settings
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        http=bounded_http(settings),
        ws=BoundedWebSocket,
        timeout_keep_alive=_IDLE,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
    if config.is_ssl:
        _check_certificate(config, settings)
    server = _QuietServer(config)
    serving = asyncio.create_task(server.serve([listener]))
    stopping = asyncio.create_task(stop.wait())
    try:
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if not serving.done():
            if first is not None:
                await first()
            ready()
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        # Streams never end on their own, so shutdown would wait for them.
        await host.events.close()
        server.should_exit = True
        await serving
    finally:
        stopping.cancel()

"""A host without keys, reached over real sockets: directly, through a proxy with default settings, through a forwarded port."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gateleg.host.host import Host
from tests.web.served import connected, listening


def as_nginx(head: bytes, port: int) -> bytes:
    """A head as `proxy_pass http://127.0.0.1:PORT` of nginx sends it on: HTTP/1.0, another Host, and no header that says who asked."""
    head = re.sub(rb"HTTP/1\.1\r", b"HTTP/1.0\r", head, count=1)
    return re.sub(rb"(?m)^Host: .*\r$", b"Host: 127.0.0.1:%d\r\nConnection: close\r" % port, head)


def as_newer_nginx(head: bytes, port: int) -> bytes:
    """The same in HTTP/1.1, which newer versions speak."""
    return as_nginx(head, port).replace(b"HTTP/1.0\r", b"HTTP/1.1\r", 1)


def as_forwarded_port(head: bytes, port: int) -> bytes:
    """A head through `ssh -L` or `kubectl port-forward`: as it was sent, which may be under any name."""
    return re.sub(rb"(?m)^Host: .*\r$", b"Host: localhost\r", head)


@asynccontextmanager
async def proxying(port: int, rewrite: Callable[[bytes, int], bytes]) -> AsyncIterator[int]:
    """A proxy on loopback before a port."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        async with connected(port) as line:
            await line.send(rewrite(head, port))
            writer.write(await line.rest())
        writer.close()

    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def ask(port: int, target: str = "/api/session", *headers: str) -> bytes:
    async with connected(port) as line:
        lines = [f"GET {target} HTTP/1.1", "Host: www.example.com", *headers, "Connection: close", "", ""]
        await line.send("\r\n".join(lines).encode())
        return await line.rest()


@pytest.mark.parametrize("rewrite", [as_nginx, as_newer_nginx, as_forwarded_port])
async def test_nobody_is_let_in_through_a_proxy_or_a_forwarded_port_without_the_token(
    host: Host, rewrite: Callable[[bytes, int], bytes]
) -> None:
    async with listening(host) as port, proxying(port, rewrite) as outside:
        for target in ("/api/session", "/api/keys", "/api/jobs"):
            status = int((await ask(outside, target)).split()[1])
            assert status in (401, 421), target
        # The proxy itself works.
        assert b" 200 OK" in await ask(outside, "/health")


async def test_the_token_is_not_taken_from_a_proxy_that_speaks_http_1_0(host: Host) -> None:
    async with listening(host) as port, proxying(port, as_nginx) as outside:
        assert b" 421 " in await ask(outside, "/api/session", f"Authorization: Bearer {host.local.token}")


async def test_the_token_is_taken_through_a_forwarded_port(host: Host) -> None:
    async with listening(host) as port, proxying(port, as_forwarded_port) as outside:
        assert b'"role":"admin"' in await ask(outside, "/api/session", f"Authorization: Bearer {host.local.token}")

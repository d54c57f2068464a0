import asyncio
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings, load_settings
from gateleg.jobs import ManualClock
from gateleg.web.app import create_app
from gateleg.web.server import BadCertificate, CannotListen, HostOpenToAll, address_of, check_reach, listen, serve


async def test_a_host_serves_until_it_is_told_to_stop_and_streams_do_not_hold_it_up(host: Host) -> None:
    listener = listen(host.settings.model_copy(update={"port": 0}))
    url = address_of(listener, host.settings)
    stop, ready = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve(host, create_app(host, console=False), listener, stop=stop, ready=ready.set))
    await ready.wait()
    known = {"authorization": f"Bearer {host.local.token}"}
    async with httpx.AsyncClient(base_url=url, headers=known) as client, client.stream("GET", "/events/stats") as stream:
        assert stream.status_code == 200
        lines = stream.aiter_lines()
        assert await anext(lines) == "retry: 2000"
        stop.set()
        async for _ in lines:
            pass
    await asyncio.wait_for(serving, 9)
    assert "server" not in stream.headers


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *names, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


async def test_https_is_served_and_browsers_are_told_to_stay(
    settings: Settings, clock: ManualClock, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    chosen = settings.model_copy(update={"tls_cert": cert, "tls_key": key, "port": 0})
    async with Host.open(chosen, [], clock=clock, ticks=clock) as host:
        listener = listen(chosen)
        stop, ready = asyncio.Event(), asyncio.Event()
        serving = asyncio.create_task(serve(host, create_app(host, console=False), listener, stop=stop, ready=ready.set))
        await ready.wait()
        async with httpx.AsyncClient(verify=ssl.create_default_context(cafile=cert)) as client:
            answer = await client.get(f"{address_of(listener, chosen)}/health")
        assert "strict-transport-security" in answer.headers
        stop.set()
        await serving


async def test_a_certificate_that_cannot_be_used_is_told(host: Host, tmp_path: Path) -> None:
    from dataclasses import replace

    (tmp_path / "cert.pem").write_text("nonsense")
    for name in ("cert.pem", "none.pem"):
        chosen = host.settings.model_copy(update={"tls_cert": tmp_path / name, "port": 0})
        with listen(chosen) as listener, pytest.raises(BadCertificate, match=name):
            await serve(replace(host, settings=chosen), create_app(host, console=False), listener, stop=asyncio.Event(), ready=lambda: None)


async def test_a_host_is_reachable_from_elsewhere_only_once_a_key_exists(settings: Settings, clock: ManualClock) -> None:
    async with Host.open(settings.model_copy(update={"host": "0.0.0.0"}), [], clock=clock, ticks=clock) as host:
        with pytest.raises(HostOpenToAll):
            await check_reach(host)
        await host.keys.create("ann", Role.ADMIN)
        await check_reach(host)


@pytest.mark.parametrize(
    ("flags", "told"), [({}, "--role admin`"), ({"store": "embedded:my data"}, "--role admin --store 'embedded:my data'`")]
)
async def test_who_has_no_key_is_told_where_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: dict[str, str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Host.open(load_settings(flags={"host": "0.0.0.0", **flags}), []) as host:
        with pytest.raises(HostOpenToAll) as refused:
            await check_reach(host)
    assert told in str(refused.value)


def test_what_cannot_be_listened_on_is_told(settings: Settings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CannotListen, match="is already in use"):
            listen(settings.model_copy(update={"port": taken.getsockname()[1]}))
    with pytest.raises(CannotListen):
        listen(settings.model_copy(update={"host": "no such name", "port": 0}))


def test_the_address_is_one_that_browsers_understand(settings: Settings) -> None:
    with listen(settings.model_copy(update={"host": "0.0.0.0", "port": 0})) as listener:
        port = listener.getsockname()[1]
        assert address_of(listener, settings) == f"http://127.0.0.1:{port}"
        assert address_of(listener, settings.model_copy(update={"url": "https://x.example"})) == "https://x.example"

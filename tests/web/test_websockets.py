import asyncio
import json
from typing import Any

import pytest
from fastapi import FastAPI
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError
from websockets.typing import Subprotocol

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.sessions import COOKIE
from gateleg.web import websockets
from tests.web.conftest import HOME
from tests.web.served import listening
from tests.web.sockets import Socket, open_socket

PATH = "/api/music/rehearsal"


def texts(sent: list[dict[str, Any]]) -> list[str]:
    return [message["text"] for message in sent if message["type"] == "websocket.send"]


async def test_a_member_speaks_over_a_websocket_of_an_application(host: Host, app: FastAPI) -> None:
    key = await host.keys.create("ann", Role.MEMBER)
    sent = await Socket(app, PATH, authorization=f"Bearer {key.token}").run("la", "end")
    assert texts(sent) == ["ann: la"]


async def test_a_stranger_and_a_page_of_another_site_do_not(host: Host, app: FastAPI) -> None:
    await host.keys.create("ann", Role.MEMBER)
    assert [message["code"] for message in await Socket(app, PATH).run("la")] == [4401]
    forged = await Socket(app, PATH, authorization="Bearer gl_nobody").run("la")
    assert [message["code"] for message in forged] == [4401]


async def test_a_websocket_ends_with_the_key_of_its_caller(host: Host, app: FastAPI) -> None:
    key = await host.keys.create("ann", Role.MEMBER)

    async def revoke() -> None:
        await host.keys.revoke(key.key.key_id)

    sent = await Socket(app, PATH, authorization=f"Bearer {key.token}").run("la", "revoke", "la", between=revoke)
    assert (texts(sent), sent[-1]["code"]) == (["ann: la"], 4401)


async def test_an_error_closes_a_websocket_with_its_code(host: Host, app: FastAPI) -> None:
    key = await host.keys.create("ann", Role.MEMBER)
    sent = await Socket(app, PATH, authorization=f"Bearer {key.token}").run("piano")
    assert (sent[-1]["type"], sent[-1]["code"], sent[-1]["reason"]) == ("websocket.close", 4400, "out-of-tune")


async def test_a_path_without_a_websocket_is_closed(host: Host, app: FastAPI) -> None:
    sent = await Socket(app, "/api/music/nothing", authorization=f"Bearer {host.local.token}").run()
    assert [message["type"] for message in sent] == ["websocket.close"]


async def test_a_websocket_on_which_nothing_is_sent_ends_with_its_session_too(
    host: Host, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websockets, "RECHECK_SECONDS", 0.001)
    session = await host.sessions.begin((await host.keys.create("ann", Role.MEMBER)).token)
    async with open_socket(app, PATH, cookie=f"{COOKIE}={session.cookie}") as socket:
        assert (await socket.receive())["type"] == "websocket.accept"
        await host.sessions.end(session.cookie)
        assert (await socket.receive())["code"] == 4401
        # The application has ended as well: it was told that nobody is there.
        await socket.ended()


async def test_no_message_is_lost_when_an_application_stops_waiting() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        waiting = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        waiting.cancel()
        await send({"type": "websocket.send", "text": "waiting"})
        await send({"type": "websocket.send", "text": (await receive())["text"]})

    async def valid() -> bool:
        return True

    def run(scope: Any, receive: Any, send: Any) -> Any:
        return websockets.run_websocket(app, scope, receive, send, valid)

    async with open_socket(run, PATH) as socket:
        assert (await socket.receive())["type"] == "websocket.accept"
        assert (await socket.receive())["text"] == "waiting"
        socket.say("la")
        assert (await socket.receive())["text"] == "la"


SOLO = "/music/band/jam"
PROTOCOL = "graphql-transport-ws"


def init(**payload: Any) -> str:
    return json.dumps({"type": "connection_init", "payload": payload})


async def begin(app: FastAPI, text: str | None, **headers: str) -> dict[str, Any]:
    """The answer to the first message: what the application has received, or how the websocket was closed."""
    async with open_socket(app, SOLO, subprotocols=[PROTOCOL], **headers) as socket:
        assert await socket.receive() == {"type": "websocket.accept", "subprotocol": PROTOCOL}
        if text is not None:
            socket.say(text)
        return await socket.receive()


@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
async def test_the_first_message_of_a_graphql_client_says_who_calls(host: Host, app: FastAPI, name: str) -> None:
    key = await host.keys.create("ann", Role.MEMBER)
    answer = await begin(app, init(**{name: f"Bearer {key.token}", "X-Part-ID": "p"}), origin="https://app.example.com")
    # The application sees the rest of the message, and not the key.
    assert json.loads(answer["text"]) == {"type": "connection_init", "payload": {"X-Part-ID": "p"}}


async def test_the_first_message_counts_more_than_a_cookie_and_a_header_more_than_both(host: Host, app: FastAPI) -> None:
    key = await host.keys.create("ann", Role.MEMBER)
    session = await host.sessions.begin(key.token)
    cookie = {"cookie": f"{COOKIE}={session.cookie}", "origin": HOME}
    assert json.loads((await begin(app, init(), **cookie))["text"])["payload"] == {}
    assert (await begin(app, init(Authorization="Bearer gl_nobody"), **cookie))["code"] == 4401
    async with open_socket(app, SOLO, subprotocols=[PROTOCOL], authorization=f"Bearer {key.token}") as socket:
        assert (await socket.receive())["type"] == "websocket.accept"
        socket.say(init(Authorization="Bearer gl_nobody"))
        assert "gl_nobody" in (await socket.receive())["text"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (init(), 4401),
        (init(Authorization="Bearer gl_nobody"), 4401),
        (init(Authorization=""), 4401),
        (init(Authorization=7), 4401),
        (init(Authorization="Basic YTpi"), 4401),
        (init(Authorization="\ud800"), 4401),
        (json.dumps({"type": "connection_init"}), 4401),
        (json.dumps({"type": "connection_init", "payload": []}), 4401),
        (json.dumps({"type": "subscribe"}), 4401),
        ("[]", 4401),
        ("{", 4401),
        ("[" * 50_000, 4401),
        (init(Authorization="x" * 70_000), 4401),
    ],
    ids=range(13),
)
async def test_whoever_does_not_say_who_calls_is_closed(host: Host, app: FastAPI, text: str, code: int) -> None:
    await host.keys.create("ann", Role.MEMBER)
    assert (await begin(app, text))["code"] == code


async def test_whoever_says_nothing_is_closed_in_time(host: Host, app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websockets, "INIT_SECONDS", 0.001)
    await host.keys.create("ann", Role.MEMBER)
    assert (await begin(app, None))["code"] == 4401


async def test_whoever_is_not_known_yet_sends_no_large_messages(host: Host) -> None:
    """Over a real connection: the server itself refuses to collect them."""
    key = await host.keys.create("ann", Role.MEMBER)
    async with listening(host) as port:
        place = f"ws://127.0.0.1:{port}/music/band/long"
        async with connect(place, subprotocols=[Subprotocol(PROTOCOL)]) as socket:
            await socket.send("x" * 100_000)
            with pytest.raises(ConnectionClosedError) as closed:
                await socket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
        async with connect(place, subprotocols=[Subprotocol(PROTOCOL)]) as socket:
            await socket.send(init(Authorization=f"Bearer {key.token}"))
            assert socket.subprotocol == PROTOCOL
            assert "connection_init" in str(await socket.recv())
            await socket.send("x" * 100_000)
            assert len(await socket.recv()) == 100_000


async def test_the_session_of_a_page_of_another_site_does_not_count(host: Host, app: FastAPI) -> None:
    session = await host.sessions.begin((await host.keys.create("ann", Role.MEMBER)).token)
    answer = await begin(app, init(), cookie=f"{COOKIE}={session.cookie}", origin="https://evil.example")
    assert (answer["code"], answer["reason"]) == (4403, "foreign-origin")


async def test_a_role_that_is_not_enough_is_told_from_nobody(host: Host, app: FastAPI) -> None:
    key = await host.keys.create("ann", Role.MEMBER)
    async with open_socket(app, "/graphql/music/jam", subprotocols=[PROTOCOL]) as socket:
        await socket.receive()
        socket.say(init(Authorization=f"Bearer {key.token}"))
        assert (await socket.receive())["code"] == 4403


async def test_a_websocket_ends_with_the_key_of_its_first_message(host: Host, app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websockets, "RECHECK_SECONDS", 0.001)
    key = await host.keys.create("ann", Role.MEMBER)
    async with open_socket(app, "/music/band/long", subprotocols=[PROTOCOL]) as socket:
        await socket.receive()
        socket.say(init(Authorization=f"Bearer {key.token}"))
        assert "connection_init" in (await socket.receive())["text"]
        await host.keys.revoke(key.key.key_id)
        assert (await socket.receive())["code"] == 4401


async def test_other_websockets_are_refused_before_they_are_accepted(host: Host, app: FastAPI) -> None:
    await host.keys.create("ann", Role.MEMBER)
    for path, protocols in ((PATH, [PROTOCOL]), (SOLO, ["chat"]), (SOLO, [])):
        async with open_socket(app, path, subprotocols=protocols) as socket:
            assert (await socket.receive())["code"] == 4401

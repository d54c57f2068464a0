from typing import Any

from fastapi import FastAPI

from gateleg.host.host import Host
from gateleg.host.principal import Role
from tests.web.sockets import Socket

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

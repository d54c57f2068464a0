import pytest
from fastapi import FastAPI

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.web import sse
from tests.web.conftest import Staff
from tests.web.streaming import reading


async def test_a_member_follows_a_stream_of_an_application_to_its_end(host: Host, app: FastAPI) -> None:
    key = await host.keys.create("ann", Role.MEMBER)
    async with reading(app, "/events/music/songs/sinnerman", authorization=f"Bearer {key.token}") as stream:
        found = await stream.rest()
    assert [(event.name, event.id, event.data) for event in found] == [("note", str(n), {"number": n}) for n in (1, 2, 3)]
    assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


async def test_a_client_that_comes_back_gets_what_came_after_its_last_event(app: FastAPI) -> None:
    async with reading(app, "/events/music/songs/sinnerman", last_event_id="2") as stream:
        assert [event.id for event in await stream.rest()] == ["3"]


async def test_a_listener_who_may_not_follow_is_told_in_the_envelope(staff: Staff) -> None:
    answer = await staff.member.get("/events/music/songs/secret")
    assert (answer.status_code, answer.json()["error"]["code"]) == (418, "out-of-tune")
    refused = [(await client.get("/events/music/silence")).status_code for client in (staff.nobody, staff.member, staff.viewer)]
    assert refused == [401, 403, 403]


async def test_a_silent_stream_lives_and_ends_with_the_key_of_its_listener(
    host: Host, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.01)
    key = await host.keys.create("bob", Role.OPERATOR)
    async with reading(app, "/events/music/silence", authorization=f"Bearer {key.token}") as stream:
        await stream.chunks.get()
        assert b"still here" in (await stream.chunks.get() or b"")
        assert host.events.followers == 1
        await host.keys.revoke(key.key.key_id)
        assert await stream.next() is None


async def test_streams_end_with_the_host(host: Host, app: FastAPI) -> None:
    async with reading(app, "/events/music/silence") as stream:
        await stream.chunks.get()
        await host.events.close()
        assert await stream.next() is None


async def test_a_stream_is_in_the_document_of_the_api(staff: Staff) -> None:
    paths = (await staff.viewer.get("/api/openapi.json")).json()["paths"]
    assert paths["/events/music/songs/{song}"]["get"]["description"] == "The notes of a song."

import asyncio
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import FastAPI

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.jobs import Job, JobContext, JobStatus, ManualClock, Submission
from gateleg.jobs.tables import LogEntry
from gateleg.jobs.tables.job import Logs
from gateleg.web.sse import JobUpdateEvents, StreamPosition, position_from
from tests.web.conftest import run_all
from tests.web.streaming import Event, reading


async def submitted(host: Host) -> UUID:
    return (await host.queue.submit(Submission("add", {"numbers": [1, 2]}))).job.job_id


async def say(host: Host, job_id: UUID, *messages: str) -> None:
    """Add to a job's log, as its worker does."""
    job = await host.queue.get(job_id)
    entries = [LogEntry(timestamp=host.store.setup.now(), level="INFO", message=message) for message in messages]
    await host.store.patch(job, Job.logs.set(Logs(entries=[*job.logs.entries, *entries])))
    host.queue.context.jobs.updates.notify(str(job_id))


def told(event: Event | None) -> list[str]:
    assert event is not None
    assert event.name == "log"
    return [line["message"] for line in event.data]


async def test_a_job_is_followed_to_its_end(host: Host, app: FastAPI) -> None:
    job_id = await submitted(host)
    async with reading(app, f"/events/jobs/{job_id}") as stream:
        first = await stream.next()
        assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert first is not None
        assert (first.name, first.data["status"]) == ("job", "PENDING")
        await run_all(host)
        host.queue.context.jobs.updates.notify(str(job_id))
        rest = await stream.rest()
    lines = [line["message"] for event in rest if event.name == "log" for line in event.data]
    assert lines == ["adding", "added"]
    assert [event.data["status"] for event in rest if event.name == "job"][-1] == "COMPLETED"
    assert rest[-1].name == "end"


async def test_a_reader_that_comes_back_goes_on_where_it_was(host: Host, app: FastAPI) -> None:
    job_id = await submitted(host)
    await say(host, job_id, "one", "two")
    async with reading(app, f"/events/jobs/{job_id}") as stream:
        assert told(await stream.next()) == ["one", "two"]
        state = await stream.next()
    assert state is not None
    await say(host, job_id, "three")
    async with reading(app, f"/events/jobs/{job_id}", last_event_id=state.id) as again:
        event = await again.next()
        assert told(event) == ["three"]
        assert event is not None
        assert event.data[0]["number"] == 2


async def test_readers_at_different_places_share_a_source_and_each_hears_every_line_once(host: Host, app: FastAPI) -> None:
    job_id = await submitted(host)
    await say(host, job_id, "one", "two")
    async with reading(app, f"/events/jobs/{job_id}", last_event_id="1-0-0000000000000000") as later:
        assert told(await later.next()) == ["two"]
        await later.next()
        async with reading(app, f"/events/jobs/{job_id}") as early:
            assert told(await early.next()) == ["one", "two"]
            await early.next()
            assert (host.events.followers, host.events.sources) == (2, 1)
            await say(host, job_id, "three")
            assert told(await early.next()) == told(await later.next()) == ["three"]


async def test_a_finished_job_is_told_and_that_is_all(host: Host, app: FastAPI) -> None:
    job_id = await submitted(host)
    await run_all(host)
    async with reading(app, f"/events/jobs/{job_id}") as stream:
        events = await stream.rest()
    assert [event.name for event in events] == ["log", "job", "end"]
    async with reading(app, f"/events/jobs/{job_id}", last_event_id=events[-1].id) as stream:
        assert [event.name for event in await stream.rest()] == ["end"]


async def test_a_job_that_is_not_there_is_not_followed(client: httpx.AsyncClient) -> None:
    assert (await client.get(f"/events/jobs/{uuid4()}")).status_code == 404
    assert (await client.get("/events/jobs/nothing")).status_code == 422


async def test_statistics_are_told_when_they_change(host: Host, app: FastAPI, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.web.sse.MAX_AGE_SECONDS", 0.01)
    async with reading(app, "/events/stats") as stream:
        first = await stream.next()
        assert first is not None
        assert {queue["queue"]: queue["waiting"] for queue in first.data["queues"]} == {"default": 0, "math": 0}
        await submitted(host)
        clock.advance(3)
        second = await stream.next()
        assert second is not None
        assert {queue["queue"]: queue["waiting"] for queue in second.data["queues"]} == {"default": 0, "math": 1}


async def test_two_hundred_readers_of_statistics_cost_as_much_as_one(host: Host, app: FastAPI) -> None:
    from contextlib import AsyncExitStack

    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(reading(app, "/events/stats")) for _ in range(200)]
        events = await asyncio.gather(*(stream.next() for stream in streams))
        assert len({event.id for event in events if event is not None}) == 1
        assert (host.events.followers, host.events.sources) == (200, 1)
        asked = sum(tally.requests for (pattern, _), tally in host.costs.by_pattern().items() if pattern == "Job.ready")
        assert asked == 2
    assert host.events.sources == 0


async def test_silence_is_broken_by_comments(host: Host, app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.web.sse.HEARTBEAT_SECONDS", 0.01)
    job_id = await submitted(host)
    async with reading(app, f"/events/jobs/{job_id}") as stream:
        await stream.next()
        assert await asyncio.wait_for(stream.chunks.get(), 10) == b": still here\n\n"


async def test_a_stream_ends_when_its_key_is_revoked(host: Host, app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.web.sse.HEARTBEAT_SECONDS", 0.01)
    made = await host.keys.create("ann", Role.VIEWER)
    job_id = await submitted(host)
    async with reading(app, f"/events/jobs/{job_id}", authorization=f"Bearer {made.token}") as stream:
        await stream.next()
        await host.keys.revoke(made.key.key_id)
        assert await stream.rest() == []


async def test_streams_end_when_the_host_stops(host: Host, app: FastAPI) -> None:
    job_id = await submitted(host)
    async with reading(app, f"/events/jobs/{job_id}") as one, reading(app, "/events/stats") as other:
        await one.next()
        await other.next()
        await host.events.close()
        assert (await one.rest(), await other.rest()) == ([], [])


async def test_nothing_is_left_behind_by_readers_that_go(host: Host, app: FastAPI) -> None:
    job_id = await submitted(host)
    async with reading(app, f"/events/jobs/{job_id}") as stream:
        await stream.next()
        assert host.events.sources == 1
    assert (host.events.sources, host.events.followers) == (0, 0)
    assert (await host.queue.get(job_id)).status == JobStatus.PENDING


@pytest.mark.parametrize("header", [None, "", "x", "-1-0", "5", "5-xyz", "9" * 40 + "-" + "0" * 16, "5-0-" + "0" * 17, "5-" + "0" * 16])
def test_an_id_that_is_none_of_ours_begins_at_the_beginning(header: str | None) -> None:
    assert position_from(header) == (0, 0, "")


async def speak(job: JobContext, config: dict[str, list[str]]) -> None:
    for word in config["words"]:
        job.emit({"word": word})


async def test_what_a_handler_emits_is_told_and_told_again_to_a_reader_that_comes_back(host: Host, app: FastAPI) -> None:
    host.queue.context.jobs.handler("speak")(speak)
    job_id = (await host.queue.submit(Submission("speak", {"words": ["one", "two", "three"]}))).job.job_id
    await run_all(host)
    async with reading(app, f"/events/jobs/{job_id}") as stream:
        rest = await stream.rest()
    (first,) = [event for event in rest if event.name == "emit"]
    assert first.data == [{"number": number, "event": {"word": word}} for number, word in enumerate(["one", "two", "three"])]
    seen, _, digest = first.id.split("-")
    async with reading(app, f"/events/jobs/{job_id}", last_event_id=f"{seen}-1-{digest}") as again:
        found = [event for event in await again.rest() if event.name == "emit"]
    assert [one["event"]["word"] for event in found for one in event.data] == ["two", "three"]
    assert found[-1].id.split("-")[1] == "3"


async def test_what_is_told_is_written_once_for_all_readers_who_have_seen_the_same(host: Host) -> None:
    job_id = await submitted(host)
    await say(host, job_id, "one")
    update = JobUpdateEvents(await host.queue.read_update(job_id))
    first, after = update.events_for(StreamPosition())
    assert update.events_for(StreamPosition())[0] is first
    assert [part.split(b"\n")[1] for part in first] == [b"event: log", b"event: job"]
    assert update.events_for(after) == ([], after)
    assert [part.split(b"\n")[1] for part in update.events_for(StreamPosition(1))[0]] == [b"event: job"]

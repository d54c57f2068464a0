"""The contract of all providers: the same replies, streams, tool calls and errors, whatever the service speaks."""

import asyncio
import base64
from collections.abc import Callable
from decimal import Decimal
from itertools import takewhile
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from gateleg.ai import (
    AsyncModels,
    Attachment,
    Delta,
    Models,
    ModelSettings,
    ModelUnreachable,
    Price,
    RateLimited,
    Reply,
    System,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
    User,
)
from gateleg.ai.chat import shape_of
from gateleg.ai.chat_requests import chat_request
from gateleg.ai.errors import AiError, InvalidModelResponse, ModelAccessDenied, ModelFailed, ModelRefused, StreamBroken
from gateleg.ai.replies import Finish, ReplyBuilder
from tests.ai.driving import Asker
from tests.ai.providers.wires import CACHED, CALL, READ, WIRES, WRITTEN, Content, Wire
from tests.ai.speaking import asked
from tests.net.http.faulty import CLOSE, RESET, Act, service

Asking = Callable[..., Asker]
WEATHER = Tool("weather", "The weather of a city", {"type": "object", "properties": {"city": {"type": "string"}}})
HELLO = Content(words=("Hel", "lö ", "\U0001f6b2"))
EVERY = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
ASK = chat_request([User("?")], {})


class Topic(BaseModel):
    name: str


def asks(asker: Asking, wire: Wire, url: str, **options: Any) -> Asker:
    return asker(wire.address(url), key=wire.key, **options)


def whole(deltas: list[Delta]) -> Reply:
    reply = deltas[-1].reply
    assert reply is not None
    return reply


def used(wire: Wire) -> tuple[int, int, int]:
    return READ, WRITTEN, CACHED if wire.reports_cached else 0


def numbers(usage: Usage) -> tuple[int, int, int]:
    return usage.input, usage.output, usage.cached


@EVERY
def test_reply_has_text_model_finish_and_usage(asker: Asking, wire: Wire) -> None:
    with service(wire.said(HELLO)) as server:
        reply = asks(asker, wire, server.url).reply([System("Be brief."), User("Hi")])
    assert (reply.text, reply.model, reply.finish, reply.calls) == (HELLO.text, wire.model, "stop", ())
    assert numbers(reply.usage) == used(wire)
    assert not reply.usage.estimated


@EVERY
def test_stream_ends_with_the_reply_that_is_not_streamed(asker: Asking, wire: Wire) -> None:
    with service(wire.said(HELLO), wire.streams(*wire.events(HELLO))) as server:
        asking = asks(asker, wire, server.url)
        reply, deltas = asking.reply([User("Hi")]), asking.stream([User("Hi")])
    assert [delta.text for delta in deltas if delta.text] == list(HELLO.words)
    assert whole(deltas) == reply
    assert [delta.reply for delta in deltas[:-1]] == [None] * (len(deltas) - 1)


@EVERY
def test_stream_may_arrive_byte_by_byte(asker: Asking, wire: Wire) -> None:
    data = b"".join(wire.events(HELLO))
    with service(wire.streams(*(data[place : place + 1] for place in range(len(data))))) as server:
        deltas = asks(asker, wire, server.url).stream([User("Hi")])
    assert (whole(deltas).text, numbers(whole(deltas).usage)) == (HELLO.text, used(wire))


@EVERY
@pytest.mark.parametrize("content", [HELLO, Content(calls=[CALL, ToolCall("call_1", "weather", '{"city":"Bergen"}')], finish="tools")])
def test_stream_may_be_split_at_any_byte(wire: Wire, content: Content) -> None:
    def read(*pieces: bytes) -> tuple[Any, ...]:
        framing, reader, builder = wire.dialect.framing(), wire.dialect.reader(ASK), ReplyBuilder()
        for event in [event for piece in pieces for event in framing.feed(piece)] + framing.end():
            for delta in reader.read(event):
                builder.add(delta)
        return reader.finish, reader.usage, builder.whole("stop", reader.usage, "m")

    data = b"".join(wire.events(content))
    expected = read(data)
    assert expected[2].text == content.text
    assert expected[2].calls == tuple(content.calls)
    for place in range(1, len(data)):
        assert read(data[:place], data[place:]) == expected


@EVERY
def test_tool_calls_are_the_same_in_a_reply_and_in_a_stream_and_their_results_are_sent(asker: Asking, wire: Wire) -> None:
    content = Content(calls=[CALL], finish="tools")
    with service(wire.said(content), wire.streams(*wire.events(content)), wire.said(HELLO)) as server:
        asking = asks(asker, wire, server.url)
        reply, deltas = asking.reply([User("?")], tools=[WEATHER]), asking.stream([User("?")], tools=[WEATHER])
        assert (reply.finish, reply.calls, reply.text) == ("tools", (CALL,), "")
        assert whole(deltas) == reply
        pieces = [delta.call for delta in deltas if delta.call is not None]
        assert ("".join(piece.id for piece in pieces), "".join(piece.text for piece in pieces)) == (CALL.id, CALL.text)
        asking.reply([User("?"), reply.message, ToolResult(CALL.id, "weather", "minus three")], tools=[WEATHER])
    assert b"The weather of a city" in server.requests[0]
    assert b"minus three" in server.requests[2]
    assert b"Oslo" in server.requests[2]


@EVERY
def test_structure_is_validated_whole_and_streamed(asker: Asking, wire: Wire) -> None:
    content = Content(words=('{"name":', '"Bikes"}'), shaped=True)
    with service(wire.said(content)) as server:
        structured = asks(asker, wire, server.url).structured(Topic, [User("Name it")])
    assert (structured.value, structured.reply.finish, structured.reply.calls) == (Topic(name="Bikes"), "stop", ())
    assert b'"required":["name"]' in server.requests[0].replace(b'": ', b'":')
    shape = chat_request([User("?")], {}, shape_of(Topic))
    framing, reader, builder = wire.dialect.framing(), wire.dialect.reader(shape), ReplyBuilder()
    for event in framing.feed(b"".join(wire.events(content))):
        for delta in reader.read(event):
            builder.add(delta)
    assert (orjson.loads(builder.text), reader.finish) == ({"name": "Bikes"}, "stop")


@EVERY
def test_picture_is_sent_in_base64(asker: Asking, wire: Wire) -> None:
    picture = Attachment("image/png", b"\x89PNG pixels", "cat.png")
    # Ollama is asked first whether the model sees.
    sees = [Act(wire.said(HELLO).pieces)] if wire.name == "ollama" else []
    with service(*sees, wire.said(HELLO)) as server:
        asks(asker, wire, server.url).reply([User("Look", (picture,))])
    assert base64.b64encode(picture.data) in server.requests[-1]


@EVERY
@pytest.mark.parametrize("finish", ["stop", "length", "filtered"])
def test_reason_of_the_end_is_told(asker: Asking, wire: Wire, finish: Finish) -> None:
    if finish not in wire.finishes:
        pytest.skip(f"{wire.name} does not end with {finish}")
    content = Content(words=("So",), finish=finish)
    with service(wire.said(content), wire.streams(*wire.events(content))) as server:
        asking = asks(asker, wire, server.url)
        assert asking.reply([User("?")]).finish == whole(asking.stream([User("?")])).finish == finish


@EVERY
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, ModelRefused),
        (401, ModelAccessDenied),
        (403, ModelAccessDenied),
        (404, ModelRefused),
        (429, RateLimited),
        (500, ModelFailed),
        (503, ModelFailed),
        (529, ModelFailed),
    ],
)
def test_error_responses_have_one_error_whole_and_streamed(asker: Asking, wire: Wire, status: int, error: type[AiError]) -> None:
    secret = wire.key or "a secret"
    message = f"no, {wire.key or ''}"
    with service(*[wire.fails(status, message=message)] * 2) as server:
        asking = asks(asker, wire, server.url, attempts=1)
        for ask in (asking.reply, asking.stream):
            with pytest.raises(error, match=f"answered {status}") as failed:
                ask([User("?")])
            assert "no, " in str(failed.value)
            assert secret not in str(failed.value)
            assert "no, " not in str(failed.value.public)


@EVERY
def test_service_is_left_alone_for_as_long_as_it_asks(asker: Asking, wire: Wire) -> None:
    with service(wire.fails(429, retry_after="7"), wire.streams(*wire.events(HELLO))) as server:
        asking = asks(asker, wire, server.url)
        assert whole(asking.stream([User("?")])).text == HELLO.text
    assert 7 <= asking.clock.pauses[0] <= 7.5
    with service(wire.fails(429, retry_after="7")) as server, pytest.raises(RateLimited) as failed:
        asks(asker, wire, server.url, attempts=1).reply([User("?")])
    assert failed.value.retry_after == 7


@EVERY
@pytest.mark.parametrize("failure", ["overload", "reset", "close", "empty", "unfinished"])
def test_stream_that_fails_before_its_first_piece_is_begun_again(asker: Asking, wire: Wire, failure: str) -> None:
    before = list(takewhile(lambda event: b"Hel" not in event, wire.events(HELLO)))
    acts = {
        "overload": wire.streams(wire.overload),
        "reset": RESET,
        "close": CLOSE,
        "empty": wire.streams(),
        "unfinished": wire.streams(*before),
    }
    with service(acts[failure], wire.streams(*wire.events(HELLO))) as server:
        deltas = asks(asker, wire, server.url).stream([User("?")])
    assert whole(deltas).text == HELLO.text
    assert len(server.requests) == 2


@EVERY
@pytest.mark.parametrize(("failure", "message"), [("overload", "busy"), ("cut", "middle"), ("lost", "middle"), ("broken", "stream broke")])
def test_stream_that_breaks_later_says_what_it_has_said(asker: Asking, wire: Wire, failure: str, message: str) -> None:
    events = wire.events(HELLO)
    begun = events[: next(number for number, event in enumerate(events) if b"Hel" in event) + 1]
    acts = {
        "overload": wire.streams(*begun, wire.overload),
        "cut": wire.streams(*begun),
        "lost": wire.streams(*begun, whole=False, end="close"),
        "broken": wire.streams(*begun, wire.broken),
    }
    with service(acts[failure]) as server, pytest.raises(StreamBroken, match=message) as failed:
        asks(asker, wire, server.url).stream([User("?")])
    assert failed.value.text == "Hel"
    assert len(server.requests) == 1


@EVERY
@pytest.mark.parametrize("body", [b"{oops", b"<html>", b"[1]", b"{}", b"", b'{"choices": 3, "output": 3, "content": 3, "message": 3}'])
def test_answer_of_another_form_is_a_bad_one(asker: Asking, wire: Wire, body: bytes) -> None:
    act = Act((b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body,))
    with service(act) as server, pytest.raises(InvalidModelResponse):
        asks(asker, wire, server.url).reply([User("?")])
    assert len(server.requests) == 1


@EVERY
def test_error_in_an_answer_that_claims_success_is_an_error(asker: Asking, wire: Wire) -> None:
    error = wire.error("overloaded", "busy")
    if "error" not in error:
        pytest.skip(f"{wire.name} answers errors with their status")
    body = orjson.dumps(error)
    act = Act((b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body,))
    with service(act, wire.said(HELLO)) as server:
        asking = asks(asker, wire, server.url)
        assert asking.reply([User("?")]).text == HELLO.text
    assert len(asking.clock.pauses) == 1


@EVERY
def test_broken_json_in_a_stream_is_a_bad_answer(asker: Asking, wire: Wire) -> None:
    with service(wire.streams(wire.broken)) as server, pytest.raises(InvalidModelResponse):
        asks(asker, wire, server.url).stream([User("?")])


@EVERY
def test_service_that_is_not_there_is_unreachable(asker: Asking, wire: Wire) -> None:
    with service() as server:
        url = server.url
    with pytest.raises(ModelUnreachable):
        asks(asker, wire, url, attempts=1).reply([User("?")])


@EVERY
def test_stream_that_is_closed_closes_its_connection(wire: Wire) -> None:
    events = wire.events(Content(words=["Hel"]))
    begun = events[: next(number for number, event in enumerate(events) if b"Hel" in event) + 1]
    unending = wire.streams(*begun, whole=False, end="silence")
    with service(unending) as server, Models() as models:
        stream = wire.opened(models, server.url).stream([User("?")])
        assert next(delta.text for delta in stream if delta.text) == "Hel"
        stream.close()
        assert server.left.wait(10)


@EVERY
async def test_cancelled_task_closes_its_connection(wire: Wire) -> None:
    events = wire.events(Content(words=["Hel"]))
    begun = events[: next(number for number, event in enumerate(events) if b"Hel" in event) + 1]
    with service(wire.streams(*begun, whole=False, end="silence")) as server:
        async with AsyncModels() as models, asyncio.timeout(30):
            said = asyncio.Event()

            async def listen() -> None:
                async for _ in models.chat(wire.address(server.url), key=wire.key).stream([User("?")]):
                    said.set()

            task = asyncio.ensure_future(listen())
            await said.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.left.wait, 10)


@EVERY
def test_options_are_in_the_request(asker: Asking, wire: Wire) -> None:
    with service(wire.said(HELLO)) as server:
        options: dict[str, Any] = {"temperature": 0.5, "max_tokens": 77}
        options |= {"stop": ["halt!"]} if "stop" in wire.offers else {}
        options |= {"tools": [WEATHER], "tool_choice": "required"} if "required" in wire.offers else {}
        asks(asker, wire, server.url).reply([System("Be brief."), User("Hi")], **options)
    text = orjson.dumps(asked(server)).decode()
    assert all(part in text for part in ("0.5", "77", "Be brief.", *(["halt!"] if "stop" in wire.offers else [])))


@EVERY
def test_usage_and_cost_are_metered(asker: Asking, wire: Wire) -> None:
    with service(wire.said(HELLO)) as server:
        settings = ModelSettings(prices={wire.address(server.url): Price.model_validate({"input": 1_000_000, "output": 0, "cached": 0})})
        asking = asks(asker, wire, server.url, settings=settings)
        asking.reply([User("?")])
    usage = asking.used[wire.address(server.url)]
    assert (numbers(usage), usage.requests, usage.cost) == (used(wire), 1, Decimal(READ - used(wire)[2]))

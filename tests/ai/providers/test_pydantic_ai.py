"""Models of pydantic-ai as chat models of ours: its own test models, called and awaited."""

import asyncio
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from gateleg.ai import (
    AsyncModels,
    Attachment,
    Delta,
    Message,
    ModelFailed,
    Models,
    ModelSettings,
    Price,
    PydanticAiChat,
    RateLimited,
    Reply,
    System,
    Tool,
    ToolCall,
    ToolResult,
    UploadedFile,
    User,
)
from gateleg.ai.errors import ExtraMissing, InvalidModelRequest, ModelAccessDenied, ModelTimedOut, NotOffered, StreamBroken
from gateleg.net import Retries

pytest.importorskip("pydantic_ai")

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import BinaryContent, ModelResponse, TextPart, ThinkingPart
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

NAME = "pydantic-ai:test:m"
WEATHER = Tool("weather", "The weather of a city", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
SETTINGS = ModelSettings(prices={NAME: Price(input=Decimal(1_000_000))}, attempts=1)
Ask = Callable[..., Reply]


@pytest.fixture(params=["called", "awaited"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Asks a model of pydantic-ai for a whole reply, or with `stream` for one that is streamed; `seen` gets the pieces."""

    def called(model: Any, messages: list[Message], stream: bool, seen: list[Delta], options: dict[str, Any]) -> Reply:
        with Models(SETTINGS) as models:
            chat = models.chat_with(PydanticAiChat(model), NAME)
            if not stream:
                return chat.reply(messages, **options)
            seen += list(chat.stream(messages, **options))
        return _last(seen)

    async def awaited(model: Any, messages: list[Message], stream: bool, seen: list[Delta], options: dict[str, Any]) -> Reply:
        async with AsyncModels(SETTINGS) as models:
            chat = models.chat_with(PydanticAiChat(model), NAME)
            if not stream:
                return await chat.reply(messages, **options)
            seen += [delta async for delta in chat.stream(messages, **options)]
        return _last(seen)

    def asked(model: Any, messages: list[Message], *, stream: bool = False, seen: list[Delta] | None = None, **options: Any) -> Reply:
        pieces = [] if seen is None else seen
        if request.param == "called":
            return called(model, messages, stream, pieces, options)
        return asyncio.run(awaited(model, messages, stream, pieces, options))

    return asked


def _last(seen: list[Delta]) -> Reply:
    assert seen[-1].reply is not None
    return seen[-1].reply


def test_reply_and_stream_say_the_same(ask: Ask) -> None:
    seen: list[Delta] = []
    reply = ask(TestModel(custom_output_text="Hello there"), [System("Be brief."), User("Hi")])
    streamed = ask(TestModel(custom_output_text="Hello there"), [System("Be brief."), User("Hi")], stream=True, seen=seen)
    assert (reply.text, reply.finish, streamed.text) == ("Hello there", "stop", "Hello there")
    assert "".join(delta.text for delta in seen) == "Hello there"
    assert len([delta for delta in seen if delta.text]) > 1
    assert reply.usage.input > 0
    assert reply.usage.cost == reply.usage.input


def test_tools_are_called_and_their_results_are_seen(ask: Ask) -> None:
    model = TestModel(custom_output_args=None)
    reply = ask(model, [User("?")], tools=[WEATHER])
    assert reply.finish == "tools"
    (call,) = reply.calls
    assert (call.name, set(call.arguments)) == ("weather", {"city"})
    answer = ask(model, [User("?"), reply.message, ToolResult(call.id, "weather", "minus three")], tools=[WEATHER])
    assert "minus three" in answer.text
    streamed = ask(model, [User("?")], stream=True, tools=[WEATHER])
    assert (streamed.finish, [call.name for call in streamed.calls]) == ("tools", ["weather"])


def test_streamed_calls_and_thoughts_are_put_together(ask: Ask) -> None:
    async def stream(messages: Any, info: Any) -> AsyncIterator[Any]:
        yield {0: DeltaThinkingPart(content="Hm.")}
        yield {1: DeltaToolCall(name="weather", json_args='{"city":', tool_call_id="a")}
        yield {1: DeltaToolCall(json_args='"Oslo"}')}
        yield {2: DeltaToolCall(name="weather", json_args="{}", tool_call_id="b")}

    reply = ask(FunctionModel(stream_function=stream), [User("?")], stream=True, tools=[WEATHER])
    assert reply.calls == (ToolCall("a", "weather", '{"city":"Oslo"}'), ToolCall("b", "weather", "{}"))
    assert (reply.reasoning, reply.finish) == ("Hm.", "tools")


def test_messages_options_and_files_reach_the_model(ask: Ask) -> None:
    seen: list[Any] = []

    def answer(messages: Any, info: Any) -> ModelResponse:
        seen.extend((messages, info))
        return ModelResponse(parts=[ThinkingPart(content="Hm."), TextPart(content="A cat.")], finish_reason="length")

    files = (Attachment("image/png", b"png"), Attachment("text/plain", b"note", "a.txt"))
    history = [System("Be brief."), User("Look", files)]
    reply = ask(FunctionModel(answer), history, temperature=0.5, max_tokens=9, seed=1, stop=["x"], tools=[WEATHER], tool_choice="none")
    assert (reply.text, reply.reasoning, reply.finish, reply.model) == ("A cat.", "Hm.", "length", "function:answer:")
    (request,), info = seen
    system, user = request.parts
    assert system.content == "Be brief."
    assert user.content == [BinaryContent(data=b"png", media_type="image/png"), "File a.txt:\nnote\n\nLook"]
    settings = info.model_settings
    assert (settings["temperature"], settings["max_tokens"], settings["seed"], settings["stop_sequences"]) == (0.5, 9, 1, ["x"])
    assert settings["tool_choice"] == "none"


def test_structure_is_validated_and_repaired() -> None:
    class Topic(BaseModel):
        name: str

    said = iter(["I would say: bikes", '{"name": "Bikes"}'])
    model = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(content=next(said))]))
    with Models(SETTINGS) as models:
        structured = models.chat_with(PydanticAiChat(model), NAME).structured(Topic, [User("?")])
    assert (structured.value.name, structured.attempts) == ("Bikes", 2)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "error"),
    [(401, ModelAccessDenied), (429, RateLimited), (503, ModelFailed)],
)
def test_errors_of_services_are_translated(ask: Ask, stream: bool, status: int, error: type[Exception]) -> None:
    def refuse(messages: Any, info: Any) -> ModelResponse:
        raise ModelHTTPError(status, "m", {"error": {"message": "no"}}, headers={"retry-after": "7"})

    async def refuse_stream(messages: Any, info: Any) -> AsyncIterator[str]:
        refuse(messages, info)
        yield ""

    model = FunctionModel(refuse, stream_function=refuse_stream)
    with pytest.raises(error, match=f"answered {status}: no") as failed:
        ask(model, [User("?")], stream=stream)
    if isinstance(failed.value, RateLimited):
        assert failed.value.retry_after == 7


def test_stream_that_breaks_says_what_it_has_said(ask: Ask) -> None:
    async def stream(messages: Any, info: Any) -> AsyncIterator[str]:
        yield "So"
        yield " far"
        raise ModelHTTPError(503, "m")

    with pytest.raises(StreamBroken) as failed:
        ask(FunctionModel(stream_function=stream), [User("?")], stream=True)
    assert failed.value.text == "So far"


async def test_cancelled_stream_ends_the_model() -> None:
    ended = asyncio.Event()

    async def stream(messages: Any, info: Any) -> AsyncIterator[str]:
        try:
            yield "So"
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with AsyncModels(SETTINGS) as models, asyncio.timeout(30):
        pieces = models.chat_with(PydanticAiChat(FunctionModel(stream_function=stream)), NAME).stream([User("?")])
        assert (await anext(pieces)).text == "So"
        await pieces.aclose()
        await ended.wait()


def test_call_that_takes_too_long_is_given_up(ask: Ask) -> None:
    async def never(messages: Any, info: Any) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(ModelTimedOut):
        ask(FunctionModel(never), [User("?")], timeout=0.05)


def test_many_threads_may_share_one_model() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def echo(messages: Any, info: Any) -> ModelResponse:
        return ModelResponse(parts=[TextPart(content=messages[-1].parts[-1].content)])

    model = FunctionModel(echo)
    with Models(SETTINGS) as models, ThreadPoolExecutor(8) as threads:
        chat = models.chat_with(PydanticAiChat(model), NAME)
        assert list(threads.map(lambda number: chat.reply([User(str(number))]).text, range(40))) == [str(n) for n in range(40)]


def test_what_it_cannot_do_is_refused() -> None:
    with Models(SETTINGS) as models:
        chat = models.chat_with(PydanticAiChat(TestModel()), NAME)
        with pytest.raises(NotOffered):
            chat.reply([User("?", (UploadedFile("openai", "f", "image/png"),))])
        with pytest.raises(NotOffered):
            chat.upload(Attachment("image/png", b"x"))
        with pytest.raises(InvalidModelRequest, match="neither a key nor a URL"):
            models.chat("pydantic-ai:test", key="k")


def test_model_is_opened_by_its_name() -> None:
    with Models(retries=Retries(attempts=1)) as models:
        chat = models.chat("pydantic-ai:test")
        assert chat.reply([User("?")]).text == "success (no tool calls)"
        with pytest.raises(InvalidModelRequest, match="cannot open 'nobody:m'"):
            models.chat("pydantic-ai:nobody:m").reply([User("?")])


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("gateleg.ai.providers.pydantic_ai.import_module", missing)
    with pytest.raises(ExtraMissing, match=r"pip install '\.\[pydantic-ai\]'"):
        Models().chat("pydantic-ai:test")

"""The facade: models that are called and models that are awaited have the same methods, made from the same flows."""

import inspect
from collections.abc import AsyncGenerator, Generator
from typing import Any, assert_type

import pytest
from pydantic import BaseModel

from gateleg.ai import (
    AsyncChat,
    AsyncEmbeddings,
    AsyncMedia,
    AsyncModels,
    AsyncRerank,
    Chat,
    Delta,
    Embeddings,
    Media,
    Models,
    Reply,
    Rerank,
    Script,
    Structured,
    User,
)
from gateleg.ai.chat import ChatFlows
from gateleg.ai.errors import InvalidModelRequest

PAIRS = [(Chat, AsyncChat), (Embeddings, AsyncEmbeddings), (Media, AsyncMedia), (Rerank, AsyncRerank), (Models, AsyncModels)]


class Topic(BaseModel):
    name: str


def methods(kind: type) -> dict[str, Any]:
    found = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    return {name: member for name, member in found.items() if inspect.isfunction(member)}


@pytest.mark.parametrize(("called", "awaited"), PAIRS)
def test_called_and_awaited_models_have_the_same_methods_with_the_same_parameters(called: type, awaited: type) -> None:
    sync, asynchronous = methods(called), methods(awaited)
    # `with_setup` and `for_threads` are the two ends of one bridge.
    assert sync.keys() - {"with_setup"} == asynchronous.keys() - {"for_threads"}
    for name in sync.keys() & asynchronous.keys():
        own, other = (list(inspect.signature(member).parameters) for member in (sync[name], asynchronous[name]))
        assert own == other, name
        assert sync[name].__doc__ == asynchronous[name].__doc__, name


def test_methods_are_described_by_their_flows() -> None:
    assert Chat.reply.__doc__ == ChatFlows.reply.__doc__
    assert str(inspect.signature(AsyncChat.structured)).endswith("-> 'Structured[M]'")
    assert inspect.iscoroutinefunction(AsyncChat.reply)
    assert not inspect.iscoroutinefunction(Chat.reply)


def test_results_have_the_types_of_the_flows() -> None:
    chat = Models().chat_with(Script(["Yes", '{"name": "Bikes"}', "No"]))
    assert_type(chat.reply([User("?")]), Reply)
    structured = chat.structured(Topic, [User("?")])
    assert_type(structured, Structured[Topic])
    assert structured.value == Topic(name="Bikes")
    stream = chat.stream([User("?")])
    assert_type(stream, Generator[Delta, None, None])
    assert "".join(delta.text for delta in stream) == "No"


async def test_awaited_results_have_the_types_of_the_flows() -> None:
    chat = AsyncModels().chat_with(Script(["Yes", '{"name": "Bikes"}', "No"]))
    reply = await chat.reply([User("?")])
    assert_type(reply, Reply)
    assert_type((await chat.structured(Topic, [User("?")])).value, Topic)
    stream = chat.stream([User("?")])
    assert_type(stream, AsyncGenerator[Delta, None])
    assert "".join([delta.text async for delta in stream]) == "No"


def test_what_makes_no_sense_is_refused_when_a_stream_is_asked_for_and_not_when_it_is_read() -> None:
    with pytest.raises(InvalidModelRequest):
        Models().chat_with(Script([])).stream([])
    with pytest.raises(InvalidModelRequest):
        AsyncModels().chat_with(Script([])).stream([])


@pytest.mark.parametrize("kind", [Models, AsyncModels])
@pytest.mark.parametrize(
    ("method", "arguments"), [("chat", {"cache": True}), ("embeddings", {"cache": True}), ("media", {"address": "gemini:veo"})]
)
def test_what_needs_a_store_says_how_to_pass_one(kind: Any, method: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidModelRequest, match=rf"{kind.__name__}\(store=...\)"):
        getattr(kind(), method)(**arguments)

"""A script stands in for a model."""

import pytest

from gateleg.ai import AsyncModels, ModelFailed, Models, RateLimited, Reply, Script, ToolCall, User
from gateleg.ai.errors import ModelRefused


def test_lines_are_said_in_order() -> None:
    script = Script(["one", lambda asked: f"you said {asked.messages[-1].text}"])
    chat = Models().chat_with(script)
    assert [chat.reply([User(text)]).text for text in ("a", "b")] == ["one", "you said b"]
    assert [asked.messages for asked in script.requests] == [(User("a"),), (User("b"),)]


def test_stream_says_word_by_word_and_then_the_calls() -> None:
    line = Reply("Let me look. ", (ToolCall("1", "look", '{"at": "x"}'),), "tools")
    deltas = list(Models().chat_with(Script([line])).stream([User("?")]))
    assert [delta.text for delta in deltas] == ["Let", " me", " look.", " ", "", ""]
    assert deltas[-1].reply is not None
    assert (deltas[-1].reply.text, deltas[-1].reply.calls) == (line.text, line.calls)


async def test_script_is_awaited_like_a_model() -> None:
    async with AsyncModels() as models:
        assert (await models.chat_with(Script(["Hi"])).reply([User("?")])).text == "Hi"


def test_what_passes_is_tried_again() -> None:
    chat = Models(sleep=lambda seconds: None).chat_with(Script([RateLimited("Slow."), "Yes"]))
    assert chat.reply([User("?")]).text == "Yes"


def test_what_goes_on_going_wrong_is_raised() -> None:
    chat = Models(sleep=lambda seconds: None).chat_with(Script([ModelFailed("No.") for _ in range(4)]))
    with pytest.raises(ModelFailed):
        chat.reply([User("?")])


def test_script_that_is_over_refuses() -> None:
    with pytest.raises(ModelRefused):
        Models().chat_with(Script([])).reply([User("?")])

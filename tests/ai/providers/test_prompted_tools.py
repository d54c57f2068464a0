"""Tools in words, for models that know none."""

import itertools
import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gateleg.ai import Assistant, Delta, Message, Reply, System, Tool, ToolCall, ToolResult, Usage, User
from gateleg.ai.chat_requests import chat_request
from gateleg.ai.errors import BadArguments
from gateleg.ai.providers.prompted_tools import ToolReplyParser, parse_tool_reply, prompt_tools
from gateleg.ai.replies import CallDelta, ReplyBuilder


class Inner(BaseModel):
    value: int


class Outer(BaseModel):
    inner: Inner


LOOK, ADD = Tool.of(Outer, "look", "Looks."), Tool.of(Outer, "add", "Adds.")


def test_free_choice_may_call_any_tool_or_answer() -> None:
    asked = prompt_tools(chat_request([User("?")], {"tools": [LOOK, ADD]}))
    assert asked.tools == ()
    assert asked.shape is not None
    assert [list(choice["properties"]) for choice in asked.shape.schema["anyOf"]] == [
        ["tool", "arguments"],
        ["tool", "arguments"],
        ["answer"],
    ]
    assert isinstance(asked.messages[0], System)
    assert "- look: Looks." in asked.messages[0].text


def test_named_tool_is_the_only_choice() -> None:
    shape = prompt_tools(chat_request([User("?")], {"tools": [LOOK, ADD], "tool_choice": "add"})).shape
    assert shape is not None
    assert shape.schema["properties"]["tool"] == {"const": "add"}


def test_definitions_of_two_tools_do_not_meet() -> None:
    shape = prompt_tools(chat_request([User("?")], {"tools": [LOOK, ADD]})).shape
    assert shape is not None
    assert set(shape.schema["$defs"]) == {"look.Inner", "add.Inner"}
    text = orjson.dumps(shape.schema).decode()
    assert '"#/$defs/look.Inner"' in text
    assert '"#/$defs/Inner"' not in text


def test_calls_and_results_are_told_in_words() -> None:
    history: list[Message] = [User("?"), Assistant("Hm.", (ToolCall("1", "add", '{"a":1}'),)), ToolResult("1", "add", "no", failed=True)]
    assert prompt_tools(chat_request(history, {})).messages == (
        User("?"),
        Assistant('Hm.\n{"tool":"add","arguments":{"a":1}}'),
        User("The tool add failed: no"),
    )


def test_tools_that_may_not_be_called_are_not_told() -> None:
    asked = prompt_tools(chat_request([User("?")], {"tools": [LOOK], "tool_choice": "none"}))
    assert (asked.messages, asked.shape) == ((User("?"),), None)


@given(st.dictionaries(st.text(max_size=5), st.integers(-9, 9), max_size=3))
def test_call_is_heard_with_its_arguments(arguments: dict[str, int]) -> None:
    asked = chat_request([User("?"), Assistant("", (ToolCall("call_0", "look"),))], {"tools": [LOOK]})
    reply = parse_tool_reply(asked, Reply(orjson.dumps({"tool": "look", "arguments": arguments}).decode()))
    assert (reply.text, reply.finish, reply.calls[0].id, reply.calls[0].arguments) == ("", "tools", "call_1", arguments)


@pytest.mark.parametrize(("said", "text"), [('{"answer": "Hi"}', "Hi"), ('{"answer": "H', "H"), ("[1]", "[1]"), ("{}", "")])
def test_answer_is_heard_as_text(said: str, text: str) -> None:
    reply = parse_tool_reply(chat_request([User("?")], {"tools": [LOOK]}), Reply(said, finish="length"))
    assert (reply.text, reply.calls, reply.finish) == (text, (), "length")


def pieces(said: str, cuts: list[int]) -> ReplyBuilder:
    """What is heard of a text that comes in pieces."""
    speech, builder = ToolReplyParser(chat_request([User("?")], {"tools": [LOOK]})), ReplyBuilder()
    places = sorted({0, len(said), *(cut % (len(said) + 1) for cut in cuts)})
    for start, end in itertools.pairwise(places):
        for delta in speech.feed(said[start:end]):
            builder.add(delta)
    for delta in speech.rest():
        builder.add(delta)
    return builder


@given(st.text(max_size=20), st.booleans(), st.lists(st.integers(0, 200), max_size=12))
def test_answer_in_pieces_is_the_answer(text: str, ascii_only: bool, cuts: list[int]) -> None:
    said = json.dumps({"answer": text}, ensure_ascii=ascii_only)
    assert pieces(said, cuts).whole("stop", Usage(), "m").text == text


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2), max_size=3),
    st.lists(st.integers(0, 200), max_size=12),
)
def test_call_in_pieces_is_the_call(arguments: dict[str, object], cuts: list[int]) -> None:
    said = json.dumps({"tool": "look", "arguments": arguments}, indent=1)
    (call,) = pieces(said, cuts).whole("stop", Usage(), "m").calls
    assert (call.name, call.arguments) == ("look", arguments)


def test_pieces_are_told_before_the_end() -> None:
    speech = ToolReplyParser(chat_request([User("?")], {"tools": [LOOK]}))
    assert speech.feed('{"answer": "He') == [Delta(text="He")]
    assert speech.feed("llo\\u00") == [Delta(text="llo")]
    assert speech.feed('e9"}') == [Delta(text="é")]
    called = ToolReplyParser(chat_request([User("?")], {"tools": [LOOK]}))
    assert called.feed('{"tool": "look", "argu') == []
    assert called.feed('ments": {"inner"') == [Delta(call=CallDelta(0, "call_0", "look")), Delta(call=CallDelta(0, text='{"inner"'))]
    assert called.feed(": 1}}") == [Delta(call=CallDelta(0, text=": 1}"))]


def test_call_that_was_cut_off_says_so_when_it_is_read() -> None:
    reply = parse_tool_reply(chat_request([User("?")], {"tools": [LOOK]}), Reply('{"tool": "look", "arguments": {"a', finish="length"))
    assert (reply.finish, reply.calls[0].name) == ("length", "look")
    with pytest.raises(BadArguments):
        _ = reply.calls[0].arguments

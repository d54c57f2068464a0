"""Tools in words, for models that know none."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gateleg.ai import Assistant, Message, Reply, System, Tool, ToolCall, ToolResult, User
from gateleg.ai.asking import asked_of
from gateleg.ai.providers.spoken_tools import heard, spoken


class Inner(BaseModel):
    value: int


class Outer(BaseModel):
    inner: Inner


LOOK, ADD = Tool.of(Outer, "look", "Looks."), Tool.of(Outer, "add", "Adds.")


def test_free_choice_may_call_any_tool_or_answer() -> None:
    asked = spoken(asked_of([User("?")], {"tools": [LOOK, ADD]}))
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
    shape = spoken(asked_of([User("?")], {"tools": [LOOK, ADD], "tool_choice": "add"})).shape
    assert shape is not None
    assert shape.schema["properties"]["tool"] == {"const": "add"}


def test_definitions_of_two_tools_do_not_meet() -> None:
    shape = spoken(asked_of([User("?")], {"tools": [LOOK, ADD]})).shape
    assert shape is not None
    assert set(shape.schema["$defs"]) == {"look.Inner", "add.Inner"}
    text = orjson.dumps(shape.schema).decode()
    assert '"#/$defs/look.Inner"' in text
    assert '"#/$defs/Inner"' not in text


def test_calls_and_results_are_told_in_words() -> None:
    history: list[Message] = [User("?"), Assistant("Hm.", (ToolCall("1", "add", '{"a":1}'),)), ToolResult("1", "add", "no", failed=True)]
    assert spoken(asked_of(history, {})).messages == (
        User("?"),
        Assistant('Hm.\n{"tool":"add","arguments":{"a":1}}'),
        User("The tool add failed: no"),
    )


def test_tools_that_may_not_be_called_are_not_told() -> None:
    asked = spoken(asked_of([User("?")], {"tools": [LOOK], "tool_choice": "none"}))
    assert (asked.messages, asked.shape) == ((User("?"),), None)


@given(st.dictionaries(st.text(max_size=5), st.integers(-9, 9), max_size=3))
def test_call_is_heard_with_its_arguments(arguments: dict[str, int]) -> None:
    asked = asked_of([User("?"), Assistant("", (ToolCall("call_0", "look"),))], {"tools": [LOOK]})
    reply = heard(asked, Reply(orjson.dumps({"tool": "look", "arguments": arguments}).decode()))
    assert (reply.text, reply.finish, reply.calls[0].id, reply.calls[0].arguments) == ("", "tools", "call_1", arguments)


@pytest.mark.parametrize(("said", "text"), [('{"answer": "Hi"}', "Hi"), ('{"answer": "H', '{"answer": "H'), ("[1]", "[1]"), ("{}", "")])
def test_answer_is_heard_as_text(said: str, text: str) -> None:
    reply = heard(asked_of([User("?")], {"tools": [LOOK]}), Reply(said, finish="length"))
    assert (reply.text, reply.calls, reply.finish) == (text, (), "length")

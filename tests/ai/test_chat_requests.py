"""What makes no sense is refused before it is sent."""

from typing import Any

import pytest
from pydantic import BaseModel

from gateleg.ai import Assistant, Message, Models, System, Tool, ToolCall, ToolResult, User
from gateleg.ai.chat_requests import chat_request
from gateleg.ai.errors import BadArguments, InvalidModelRequest
from gateleg.ai.messages import dump_messages, load_messages

TOOL = Tool("look", "Looks")


@pytest.mark.parametrize(
    ("messages", "options", "problem"),
    [
        ([], {}, "no message"),
        ([System("s")], {}, "no message"),
        ([User("?")], {"temperature": 2.5}, "temperature"),
        ([User("?")], {"temperature": float("nan")}, "temperature"),
        ([User("?")], {"max_tokens": 0}, "max_tokens"),
        ([User("?")], {"timeout": -1}, "timeout"),
        ([User("?")], {"stop": ["x", ""]}, "stop sequence is empty"),
        ([User("?")], {"tools": [TOOL, TOOL]}, "same name"),
        ([User("?")], {"tools": [Tool("a b", "")]}, "cannot name a tool"),
        ([User("?")], {"tools": [Tool("", "")]}, "cannot name a tool"),
        ([User("?")], {"tool_choice": "required"}, "tool choice"),
        ([User("?")], {"tools": [TOOL], "tool_choice": "other"}, "tool choice"),
        ([User("?"), ToolResult("1", "look", "x")], {}, "no message that makes the call"),
        ([User("\ud800")], {}, "surrogate"),
    ],
)
def test_ask_is_refused(messages: list[Message], options: Any, problem: str) -> None:
    with pytest.raises(InvalidModelRequest, match=problem):
        chat_request(messages, options)


def test_ask_takes_messages_from_any_iterable() -> None:
    assert chat_request((User(text) for text in "ab"), {}).messages == (User("a"), User("b"))


def test_system_messages_can_be_taken_apart() -> None:
    asked = chat_request([System("a"), User("?"), System("b")], {})
    assert (asked.system, asked.turns) == ("a\n\nb", (User("?"),))


def test_single_text_to_embed_is_refused() -> None:
    with pytest.raises(InvalidModelRequest):
        Models().embeddings().embed("text")


def test_messages_survive_json() -> None:
    messages: list[Message] = [
        System("s"),
        User("ü"),
        Assistant("", (ToolCall("1", "look", '{"a": 1}'),)),
        ToolResult("1", "look", "x", failed=True),
    ]
    assert load_messages(dump_messages(messages)) == messages


@pytest.mark.parametrize("text", ["{oops", "[1]", '"x"', "3"])
def test_arguments_that_are_no_object_are_told(text: str) -> None:
    with pytest.raises(BadArguments):
        _ = ToolCall("1", "look", text).arguments


def test_call_without_arguments_has_none() -> None:
    assert ToolCall("1", "look", "").arguments == {}


def test_tool_is_made_of_a_pydantic_model() -> None:
    class Look(BaseModel):
        """Looks at a place."""

        place: str

    tool = Tool.of(Look, "look")
    assert (tool.description, tool.parameters["required"]) == ("Looks at a place.", ["place"])

"""Structures: found in what a model says, told what is wrong, given up after a while."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from gateleg.ai import ModelSettings, Price, User
from gateleg.ai.chat import StructureMismatch, read_structure
from gateleg.ai.errors import BadStructure
from tests.ai.driving import Asker
from tests.ai.speaking import asked, said
from tests.net.http.faulty import service

Asking = Callable[..., Asker]


class Topic(BaseModel):
    """A topic of a conversation."""

    name: str = Field(min_length=3)
    weight: int = Field(default=1, ge=0)


def told(text: str, reason: str = "stop") -> Any:
    message = {"role": "assistant", "content": text}
    return said({"model": "m", "message": message, "done": True, "done_reason": reason, "prompt_eval_count": 10, "eval_count": 5})


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Bikes"}',
        '  {"name": "Bikes"}\n',
        'Sure! Here it is:\n```json\n{"name": "Bikes"}\n```\nAnything else?',
        '```\n{"name": "Bikes"}\n```',
        'I think {this} is right: {"name": "Bikes"} {"name": "Other"}',
    ],
)
def test_structure_is_found_in_what_is_said_around_it(text: str) -> None:
    assert read_structure(Topic, text).name == "Bikes"


@pytest.mark.parametrize("text", ["", "no", "[1]", '"name"', '{"name": "Bikes"', "{" * 5000, '{"name": "x"}', '{"weight": 1}'])
def test_what_is_no_structure_is_a_misfit(text: str) -> None:
    with pytest.raises(StructureMismatch):
        read_structure(Topic, text)


@given(st.text(min_size=3), st.integers(0, 10**6), st.text(alphabet="abc \n`'\"[]", max_size=20))
def test_every_structure_is_read_back_from_its_json(name: str, weight: int, around: str) -> None:
    topic = Topic(name=name, weight=weight)
    assert read_structure(Topic, around.replace("```", "") + topic.model_dump_json() + "\n") == topic


def test_model_is_told_what_is_wrong_and_asked_again(asker: Asking) -> None:
    with service(told('{"name": "x", "weight": -1}'), told('{"name": "Bikes"}')) as server:
        settings = ModelSettings(prices={f"ollama:m@{server.url}": Price(input=Decimal(1), output=Decimal(2))})
        found = asker(f"ollama:m@{server.url}", settings).structured(Topic, [User("Name it")])
    assert (found.value.name, found.attempts) == ("Bikes", 2)
    assert (found.usage.input, found.usage.output, found.usage.cost) == (20, 10, Decimal("0.00004"))
    complaint = asked(server)["messages"][-1]
    assert complaint["role"] == "user"
    assert "name: String should have at least 3 characters" in complaint["content"]
    assert "weight: Input should be greater than or equal to 0" in complaint["content"]


def test_repairs_are_bounded(asker: Asking) -> None:
    with service(*[told("I cannot.")] * 3) as server, pytest.raises(BadStructure) as failed:
        asker(f"ollama:m@{server.url}").structured(Topic, [User("Name it")])
    assert (failed.value.attempts, failed.value.text, len(server.requests)) == (3, "I cannot.", 3)
    assert failed.value.problems == ["The answer is not a JSON object."]


def test_no_repairs_means_one_attempt(asker: Asking) -> None:
    with service(told('{"name": "Bi', "length")) as server, pytest.raises(BadStructure, match="ran out of tokens"):
        asker(f"ollama:m@{server.url}").structured(Topic, [User("Name it")], repairs=0)
    assert len(server.requests) == 1


def test_schema_is_told_in_words_too(asker: Asking) -> None:
    with service(told('{"name": "Bikes"}')) as server:
        asker(f"ollama:m@{server.url}").structured(Topic, [User("Name it")])
    assert asked(server)["messages"][0]["role"] == "system"
    assert "A topic of a conversation." in asked(server)["messages"][0]["content"]

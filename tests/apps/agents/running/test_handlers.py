"""Handlers: chosen from an allow-list, and set up as agents' handlers are."""

import logging
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from gateleg.ai import AsyncModels, Script, User
from gateleg.apps.agents.errors import BadConfiguration, BadHandlerClass, HandlerNotAllowed
from gateleg.apps.agents.running import AgentHandler
from gateleg.apps.agents.running.handlers import registry
from gateleg.apps.agents.running.handlers.built_in import ClaudeHandler, LocalHandler, OllamaHandler, OpenAIHandler
from gateleg.apps.agents.running.handlers.registry import BUILT_IN, find_handler, handler_names, make_handler

LOG = logging.getLogger("test")


class HouseHandler(AgentHandler):
    """Answers by a script."""

    def open(self) -> Any:
        return self.models.chat_with(Script([f"{self.agent['agent_name']} of {self.endpoint_id}, {self.setting['tone']}"]))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("house", f"{__name__}:HouseHandler", registry.ENTRY_POINT_GROUP),
        EntryPoint("other", f"{__name__}:LOG", registry.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(registry, "_registered", lambda: {point.name: point for point in points})


@pytest.mark.parametrize("name", [*BUILT_IN, *(handler.__name__ for handler in BUILT_IN.values()), "gpt", "Claude", "OpenAI"])
def test_every_provider_has_a_handler_by_its_names(name: str) -> None:
    assert issubclass(find_handler(name), AgentHandler)


def test_the_handlers_of_the_public_engine_are_all_there() -> None:
    names = {handler.__name__ for handler in BUILT_IN.values()}
    assert {"OpenAIHandler", "GeminiHandler", "AnthropicHandler", "ClaudeHandler", "OllamaHandler"} <= names


@pytest.mark.parametrize("name", ["os", "subprocess.Popen", "gateleg.apps.agents", "", "LocalHandler.__init__"])
def test_nothing_is_imported_by_a_name_that_data_holds(name: str) -> None:
    with pytest.raises(HandlerNotAllowed):
        find_handler(name)


def test_a_host_may_allow_some_handlers_only() -> None:
    assert handler_names(["local"]) == ["local"]
    assert find_handler("local", ["local"]) is LocalHandler
    with pytest.raises(HandlerNotAllowed):
        find_handler("openai", ["local"])


async def test_a_handler_of_ones_own_is_registered_by_an_entry_point(registered: None) -> None:
    async with AsyncModels() as models:
        handler = make_handler(
            find_handler("house"),
            LOG,
            {"agent_name": "Guide"},
            {"tone": "dry"},
            endpoint_id="local",
            partition_key="local#acme",
            run={"run_uuid": "1"},
            connection_id="c",
            models=models,
        )
        deltas = [delta async for delta in handler.stream([User("Who are you?")])]
    assert deltas[-1].reply is not None
    assert deltas[-1].reply.text == "Guide of local, dry"
    assert (handler.partition_key, handler.run, handler.connection_id) == ("local#acme", {"run_uuid": "1"}, "c")


def test_an_entry_point_that_names_something_else_is_refused(registered: None) -> None:
    with pytest.raises(BadHandlerClass, match="other"):
        find_handler("other")


def agent(**configuration: Any) -> dict[str, Any]:
    return {"agent_name": "Guide", "configuration": configuration}


def test_the_model_comes_from_the_configuration() -> None:
    assert OpenAIHandler(LOG, agent(model="gpt-x")).address == "openai:gpt-x"
    assert ClaudeHandler(LOG, agent(model="anthropic:claude-x")).address == "anthropic:claude-x"
    assert LocalHandler(LOG, agent()).address == "local:smollm2"
    assert find_handler("openai-compatible")(LOG, agent(model="house:llama")).address == "house:llama"
    with pytest.raises(BadConfiguration, match="names no model"):
        _ = OpenAIHandler(LOG, agent()).address


@pytest.mark.parametrize("model", ["m@http://169.254.169.254/v1", "openai:m@https://evil.example/v1"])
def test_a_tenant_cannot_name_a_server(model: str) -> None:
    for handler in (OpenAIHandler, OllamaHandler, find_handler("openai-compatible")):
        with pytest.raises(BadConfiguration, match="names a server"):
            _ = handler(LOG, agent(model=model)).address


def test_options_are_read_from_the_configuration() -> None:
    handler = OpenAIHandler(LOG, agent(model="m", temperature="0.5", max_tokens=99.0, stop="END", unknown=1))
    assert handler.options == {"temperature": 0.5, "max_tokens": 99, "stop": ["END"]}
    with pytest.raises(BadConfiguration, match="temperature='hot'"):
        _ = OpenAIHandler(LOG, agent(temperature="hot")).options


def test_the_budget_leaves_room_for_the_answer() -> None:
    assert LocalHandler(LOG, agent()).budget == 3_400 - 850
    assert LocalHandler(LOG, agent(context_tokens=1000, max_tokens=100)).budget == 900

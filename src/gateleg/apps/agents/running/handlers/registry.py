"""Which handlers there are: the built-in ones, and those that packages register by entry points. Nothing else can be chosen.

A package registers a handler under a name, and agents choose it by that name:

    [project.entry-points."gateleg.agent_handlers"]
    house = "house_models.handlers:HouseHandler"
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadHandlerClass, HandlerNotAllowed
from gateleg.apps.agents.running.handlers import built_in
from gateleg.apps.agents.running.handlers.contract import AgentHandler
from gateleg.model.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from logging import Logger

__all__ = ["BUILT_IN", "GROUP", "find_handler", "handler_names", "make_handler"]

#: The group of entry points.
GROUP = "gateleg.agent_handlers"
#: By the names that LLMs and agents use; each is also known by the name of its class.
BUILT_IN: dict[str, type[AgentHandler]] = {
    "anthropic": built_in.AnthropicHandler,
    "bedrock": built_in.BedrockHandler,
    "claude": built_in.ClaudeHandler,
    "gemini": built_in.GeminiHandler,
    "local": built_in.LocalHandler,
    "ollama": built_in.OllamaHandler,
    "openai": built_in.OpenAIHandler,
    "openai-compatible": built_in.OpenAICompatibleHandler,
    "openai-responses": built_in.OpenAIResponsesHandler,
}
_CLASSES = {handler.__name__: name for name, handler in BUILT_IN.items()}
#: What the public engine and its clients call them.
_ALIASES = {"gpt": "openai", "google": "gemini", "openai_compatible": "openai-compatible", "openai_responses": "openai-responses"}


@cache
def _registered() -> Mapping[str, Any]:
    """Entry points by their names. They are loaded when they are chosen."""
    return {point.name: point for point in entry_points(group=GROUP)}


def handler_names(allowed: Collection[str] = ()) -> list[str]:
    """The names that may be chosen: all of them, or those of `allowed`."""
    names = sorted({*BUILT_IN, *_registered()})
    return [name for name in names if not allowed or name in allowed]


def find_handler(name: str, allowed: Collection[str] = ()) -> type[AgentHandler]:
    """The handler of a name, which data may hold. Raises `HandlerNotAllowed` for one that is not there or not allowed.

    The name is looked up and never imported.
    """
    chosen = _CLASSES.get(name, _ALIASES.get(name.lower(), name if name in _registered() else name.lower()))
    known = handler_names(allowed)
    if chosen not in known:
        raise HandlerNotAllowed(f"There is no handler {name!r} that agents may use. {did_you_mean(name, known)}")
    return BUILT_IN.get(chosen) or _load(chosen)


def _load(name: str) -> type[AgentHandler]:
    found = _registered()[name].load()
    if not (isinstance(found, type) and issubclass(found, AgentHandler)):
        raise BadHandlerClass(f"The entry point {name!r} of {GROUP} is not a class derived from AgentHandler.")
    return found


def make_handler(
    handler: type[AgentHandler], logger: Logger, agent: Mapping[str, Any], setting: Mapping[str, Any], **attributes: Any
) -> AgentHandler:
    """A handler with all that it has: constructed with `(logger, agent, **setting)`, then given its attributes."""
    made = handler(logger, agent, **setting)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made

"""The handler registry: built-in handlers, and those that packages register as entry points. Agents can use no others.

A package registers a handler under a name, and agents select it by that name:

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
from gateleg.model.types import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from logging import Logger

__all__ = ["BUILT_IN", "ENTRY_POINT_GROUP", "find_handler", "handler_names", "make_handler"]

#: The group of entry points.
ENTRY_POINT_GROUP = "gateleg.agent_handlers"
#: Handlers by the names that catalogue entries and agents use; the class name works too.
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
#: The names that the public engine uses.
_ALIASES = {"gpt": "openai", "google": "gemini", "openai_compatible": "openai-compatible", "openai_responses": "openai-responses"}


@cache
def _registered() -> Mapping[str, Any]:
    """Entry points by name. A handler is loaded when an agent uses it."""
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def handler_names(allowed: Collection[str] = ()) -> list[str]:
    """The available names: all, or those in `allowed`."""
    names = sorted({*BUILT_IN, *_registered()})
    return [name for name in names if not allowed or name in allowed]


def find_handler(name: str, allowed: Collection[str] = ()) -> type[AgentHandler]:
    """Find a handler by name. Raises `HandlerNotAllowed` if it is unknown or not allowed.

    The name may come from tenant data: it is only looked up, never imported.
    """
    chosen = _CLASSES.get(name, _ALIASES.get(name.lower(), name if name in _registered() else name.lower()))
    known = handler_names(allowed)
    if chosen not in known:
        raise HandlerNotAllowed(f"There is no handler {name!r} that agents may use. {did_you_mean(name, known)}")
    return BUILT_IN.get(chosen) or _load(chosen)


def _load(name: str) -> type[AgentHandler]:
    found = _registered()[name].load()
    if not (isinstance(found, type) and issubclass(found, AgentHandler)):
        raise BadHandlerClass(f"The entry point {name!r} of {ENTRY_POINT_GROUP} is not a class derived from AgentHandler.")
    return found


def make_handler(
    handler: type[AgentHandler], logger: Logger, agent: Mapping[str, Any], setting: Mapping[str, Any], **attributes: Any
) -> AgentHandler:
    """Construct a handler with `(logger, agent, **setting)`, then set its attributes."""
    made = handler(logger, agent, **setting)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made

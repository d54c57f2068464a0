"""The built-in handlers, one per provider. All use `gateleg.ai`."""

from __future__ import annotations

from gateleg.apps.agents.running.handlers.contract import AgentHandler

__all__ = [
    "AnthropicHandler",
    "BedrockHandler",
    "ClaudeHandler",
    "GeminiHandler",
    "LocalHandler",
    "OllamaHandler",
    "OpenAICompatibleHandler",
    "OpenAIHandler",
    "OpenAIResponsesHandler",
]


class OpenAIHandler(AgentHandler):
    """OpenAI's chat completions."""

    provider = "openai"
    context_tokens = 128_000


class OpenAIResponsesHandler(AgentHandler):
    """OpenAI's Responses API."""

    provider = "openai-responses"
    context_tokens = 128_000


class OpenAICompatibleHandler(AgentHandler):
    """Any server with OpenAI's API that `[models.providers]` configures; the agent's model is `name:model`."""


class GeminiHandler(AgentHandler):
    """Google's Gemini."""

    provider = "gemini"
    context_tokens = 128_000


class AnthropicHandler(AgentHandler):
    """Anthropic's Claude."""

    provider = "anthropic"
    context_tokens = 128_000


class ClaudeHandler(AnthropicHandler):
    """Anthropic's Claude, under the model's name."""


class BedrockHandler(AgentHandler):
    """Models on Amazon Bedrock."""

    provider = "bedrock"


class OllamaHandler(AgentHandler):
    """Models of Ollama on this machine."""

    provider = "ollama"
    context_tokens = 8_192


class LocalHandler(AgentHandler):
    """The small model in this process: offline and free, but weak at reasoning."""

    provider = "local"
    default_model = "smollm2"
    small = True
    # The model has 4,096 tokens; the difference covers errors of the token estimate.
    context_tokens = 3_400

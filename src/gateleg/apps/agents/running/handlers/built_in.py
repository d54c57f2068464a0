"""The handlers that come with Gateleg, one for each provider. All of them ask through `gateleg.ai`."""

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
    """Any server with OpenAI's API that `[models.providers]` names: the configuration's model is `name:model`."""


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
    """The small model in this process. It works offline and costs nothing, and it does not reason."""

    provider = "local"
    default_model = "smollm2"
    small = True
    # 4,096 of the model, less what the estimate of tokens may be wrong by.
    context_tokens = 3_400

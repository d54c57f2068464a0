"""Opens a model by its address. Providers are imported here, on demand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypedDict

from gateleg.ai.chat import ChatFlows
from gateleg.ai.embeddings import EmbeddingFlows, RerankFlows
from gateleg.ai.errors import AiError, BadModelAddress, InvalidModelRequest, KeyMissing, NotOffered

if TYPE_CHECKING:
    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.chat_requests import Purpose
    from gateleg.ai.media import MediaFlows
    from gateleg.ai.provider import ChatProvider, EmbeddingsProvider, MediaProvider
    from gateleg.ai.providers.remote import Endpoint
    from gateleg.ai.settings import ModelSettings
    from gateleg.ai.setup import ModelSetup


class EmbeddingOptions(TypedDict, total=False):
    """Options of an embedding model."""

    key: str
    #: whether vectors are cached in the store, if there is one
    cache: bool
    #: the length of the vectors, for models that offer several
    dimensions: int
    #: prefixes by purpose, for models that expect them: {"query": "query: ", "document": "passage: "}
    prefixes: dict[Purpose, str]


def open_chat(text: str, setup: ModelSetup, key: str | None = None, *, cache: bool = False) -> ChatFlows:
    """The chat model at an address."""
    address = setup.settings.resolve(text)
    return ChatFlows(address, _chat(address, setup, key), setup, cache)


def open_embeddings(text: str, setup: ModelSetup, options: EmbeddingOptions, *, cache: bool = False) -> EmbeddingFlows:
    """The embedding model at an address."""
    address = setup.settings.resolve_embeddings(text)
    return EmbeddingFlows(address, _embeddings(address, setup, options), setup, cache)


def problems_of(setup: ModelSetup) -> list[AiError]:
    """What keeps the models and providers of the settings from being used: missing keys, credentials, packages and weights.

    Nothing is sent. Finding credentials may take a moment.
    """
    settings = setup.settings
    chats = {settings.chat} if "chat" in settings.model_fields_set else set()
    embeddings = {settings.embeddings} if "embeddings" in settings.model_fields_set else set()
    checks = [
        *(partial(_check_chat, text, setup) for text in sorted(chats)),
        *(partial(_check_embeddings, text, setup) for text in sorted(embeddings)),
        *(partial(_check_key, name, settings) for name in settings.providers),
    ]
    #: one for each thing to do
    problems: dict[str, AiError] = {}
    for check in checks:
        try:
            check()
        except AiError as error:
            problems.setdefault(str(error.fix), error)
    return list(problems.values())


def _check_chat(text: str, setup: ModelSetup) -> None:
    address = setup.settings.resolve(text)
    _chat(address, setup, None)
    if address.provider == "local":
        from gateleg.ai.providers.local import check_installed

        check_installed()
    _check_credentials(address)


def _check_embeddings(text: str, setup: ModelSetup) -> None:
    address = setup.settings.resolve_embeddings(text)
    _embeddings(address, setup, {})
    if address.provider == "local":
        from gateleg.ai.minilm import check_installed

        check_installed()
    _check_credentials(address)


def _check_credentials(address: ModelAddress) -> None:
    if address.provider == "bedrock":
        from gateleg.ai.providers.bedrock import check_credentials

        check_credentials(address.place)


def _check_key(name: str, settings: ModelSettings) -> None:
    """Read the key of a provider, whatever its endpoint is."""
    address = settings.resolve(f"{name}:*")
    endpoint = settings.providers[name].url or "https://its.own"
    settings.key_for(address, endpoint, endpoint)


def _chat(address: ModelAddress, setup: ModelSetup, key: str | None) -> ChatProvider:
    match address.provider:
        case "local":
            from gateleg.ai.providers.local import LocalChat

            _known(address, "smollm2")
            return LocalChat()
        case "ollama":
            from gateleg.ai.providers import ollama, remote

            url = address.place or ollama.USUAL
            endpoint = remote.Endpoint(url, key or setup.settings.key_for(address, url, ollama.USUAL))
            return ollama.OllamaChat(address.model, endpoint)
        case "openai":
            from gateleg.ai.providers import openai, remote

            url = address.place or openai.USUAL
            # OpenAI's newer models refuse the older name of this option, which is the only one that compatible servers know.
            limit = "max_completion_tokens" if url == openai.USUAL else "max_tokens"
            endpoint = remote.Endpoint(url, _key(address, setup, key, url, openai.USUAL))
            return openai.OpenAIChat(address.model, endpoint, openai.OpenAIDialect(limit))
        case "openai-responses":
            from gateleg.ai.providers import openai, openai_responses, remote

            url = address.place or openai.USUAL
            endpoint = remote.Endpoint(url, _key(address, setup, key, url, openai.USUAL))
            # Compatible servers may not know the reasoning items of OpenAI's own models.
            return openai.OpenAIChat(address.model, endpoint, openai_responses.ResponsesDialect(reasoning=url == openai.USUAL))
        case "anthropic":
            from gateleg.ai.providers import anthropic

            url = address.place or anthropic.USUAL
            endpoint = anthropic.anthropic_endpoint(url, _needed(address, setup, key, url, anthropic.USUAL))
            return anthropic.AnthropicChat(address.model, endpoint)
        case "gemini":
            from gateleg.ai.providers import gemini

            return gemini.GeminiChat(address.model, _gemini(address, setup, key))
        case "bedrock":
            from gateleg.ai.providers import bedrock, remote

            return remote.RemoteChat(address.model, _bedrock(address, key), bedrock.ConverseDialect())
        case "pydantic-ai":
            from gateleg.ai.providers.pydantic_ai import PydanticAiChat

            if key is not None or address.place is not None:
                raise InvalidModelRequest(
                    f"{address.name} takes neither a key nor a URL here.",
                    fix="Configure it as pydantic-ai documents, or pass a Model of yours: models.chat_with(PydanticAiChat(model)).",
                )
            return PydanticAiChat(address.model)
    raise NotOffered(f"{address.name} is not a chat model.")


def open_media(text: str, setup: ModelSetup, key: str | None = None) -> MediaFlows:
    """The media model at an address."""
    from gateleg.ai.media import MediaFlows

    address = setup.settings.resolve(text)
    return MediaFlows(address, _media(address, setup, key), setup)


def _media(address: ModelAddress, setup: ModelSetup, key: str | None) -> MediaProvider:
    match address.provider:
        case "gemini":
            from gateleg.ai.providers import media

            return media.GeminiMedia(address.model, _gemini(address, setup, key))
        case "replicate":
            from gateleg.ai.providers import media, remote

            url = address.place or media.REPLICATE
            return media.ReplicateMedia(address.model, remote.Endpoint(url, _needed(address, setup, key, url, media.REPLICATE)))
    raise NotOffered(f"{address.name} is not a media model.", fix="Use gemini:veo-..., gemini:imagen-... or replicate:owner/name.")


def open_reranker(text: str, setup: ModelSetup, key: str | None = None) -> RerankFlows:
    """The reranker at an address."""
    from gateleg.ai.providers import remote

    address = setup.settings.resolve(text)
    if address.provider != "rerank":
        raise NotOffered(
            f"{address.name} is not a reranker.", fix="Use rerank:MODEL@URL, such as rerank:rerank-v3.5@https://api.cohere.com/v2."
        )
    if address.place is None:
        raise BadModelAddress(f"{text!r} has no endpoint.", fix="Use rerank:MODEL@https://host/v1.")
    endpoint = remote.Endpoint(address.place, key or setup.settings.key_for(address, address.place, address.place))
    return RerankFlows(address, remote.RemoteReranker(address.model, endpoint), setup)


def _embeddings(address: ModelAddress, setup: ModelSetup, options: EmbeddingOptions) -> EmbeddingsProvider:
    key, dimensions, prefixes = options.get("key"), options.get("dimensions"), options.get("prefixes")
    if prefixes and address.provider not in ("openai", "ollama"):
        raise NotOffered(f"{address.name} does not support prefixes.")
    match address.provider:
        case "local":
            from gateleg.ai.providers.local import LocalEmbeddings

            _known(address, "minilm")
            if dimensions not in (None, LocalEmbeddings.dimensions):
                raise NotOffered("The vectors of the local embedding model always have 384 dimensions.")
            return LocalEmbeddings()
        case "ollama":
            from gateleg.ai.providers import ollama, remote

            url = address.place or ollama.USUAL
            endpoint = remote.Endpoint(url, key or setup.settings.key_for(address, url, ollama.USUAL))
            return remote.RemoteEmbeddings(address.model, endpoint, ollama.OllamaDialect(), dimensions=dimensions, prefixes=prefixes)
        case "openai":
            from gateleg.ai.providers import openai, remote

            url = address.place or openai.USUAL
            endpoint = remote.Endpoint(url, _key(address, setup, key, url, openai.USUAL))
            return remote.RemoteEmbeddings(address.model, endpoint, openai.OpenAIDialect(), dimensions=dimensions, prefixes=prefixes)
        case "gemini":
            from gateleg.ai.providers import gemini, remote

            dialect = gemini.GeminiDialect()
            return remote.RemoteEmbeddings(address.model, _gemini(address, setup, key), dialect, dimensions=dimensions, batch=gemini.BATCH)
        case "bedrock":
            from gateleg.ai.providers import bedrock

            return bedrock.BedrockEmbeddings(address.model, _bedrock(address, key), dimensions)
    raise NotOffered(f"{address.provider} has no embedding models.")


def _known(address: ModelAddress, only: str) -> None:
    if address.model != only:
        raise BadModelAddress(f"Unknown local model {address.model!r}.", fix=f"Use local:{only}.")


def _gemini(address: ModelAddress, setup: ModelSetup, key: str | None) -> Endpoint:
    from gateleg.ai.providers import gemini

    url = address.place or gemini.USUAL
    return gemini.gemini_endpoint(url, _needed(address, setup, key, url, gemini.USUAL))


def _bedrock(address: ModelAddress, key: str | None) -> Endpoint:
    from gateleg.ai.providers import bedrock

    if key is not None:
        raise InvalidModelRequest("Bedrock does not use a key.", fix="Provide AWS credentials as for botocore.")
    return bedrock.BedrockEndpoint(address.place)


def _needed(address: ModelAddress, setup: ModelSetup, key: str | None, url: str, usual: str) -> str:
    own_key = key or setup.settings.key_for(address, url, usual)
    if own_key is None:
        raise _key_missing(address)
    return own_key


def _key(address: ModelAddress, setup: ModelSetup, key: str | None, url: str, usual: str) -> str | None:
    """The key for an endpoint. The provider's own endpoint requires one; other servers may not."""
    own_key = key or setup.settings.key_for(address, url, usual)
    if own_key is None and url == usual:
        raise _key_missing(address)
    return own_key


def _key_missing(address: ModelAddress) -> KeyMissing:
    variable = f"{address.vendor.upper().replace('-', '_')}_API_KEY"
    return KeyMissing(
        f"{address} needs a key, and none is configured.",
        fix=f'Set [models.providers.{address.vendor}] key_env = "{variable}" in gateleg.toml, or the name of another environment variable '
        "that holds it; in Python, pass key=...",
    )

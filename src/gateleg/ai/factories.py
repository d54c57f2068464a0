"""Opens a model by its address. Providers are imported here, on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from gateleg.ai.chat import ChatFlows
from gateleg.ai.embeddings import EmbeddingFlows, RerankFlows
from gateleg.ai.errors import BadModelAddress, InvalidModelRequest, KeyMissing, NotOffered

if TYPE_CHECKING:
    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.chat_requests import Purpose
    from gateleg.ai.media import MediaFlows
    from gateleg.ai.provider import ChatProvider, EmbeddingsProvider, MediaProvider
    from gateleg.ai.providers.remote import Endpoint
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
    found = key or setup.settings.key_for(address, url, usual)
    if found is None:
        raise KeyMissing(f"{address} needs a key.")
    return found


def _key(address: ModelAddress, setup: ModelSetup, key: str | None, url: str, usual: str) -> str | None:
    """The key for an endpoint. The provider's own endpoint requires one; other servers may not."""
    found = key or setup.settings.key_for(address, url, usual)
    if found is None and url == usual:
        raise KeyMissing(f"{address} needs a key.")
    return found

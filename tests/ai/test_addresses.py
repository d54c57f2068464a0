"""Models by their addresses."""

import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from gateleg.ai import Models, ModelSettings, Price, RateLimited, Usage
from gateleg.ai.addresses import PROVIDERS, ModelAddress, parse_model_address
from gateleg.ai.errors import BadModelAddress, BadStructure
from gateleg.ai.replies import Meter

NAMES = st.text(alphabet="abcxyz0189.:-/_@", min_size=1, max_size=20)
PLACES = st.sampled_from(["http://host", "https://host/v1", "http://[::1]:8000", "https://host:8443/a/b"])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("local:smollm2", ModelAddress("local", "smollm2")),
        ("ollama:llama3.2:1b@http://host:11434", ModelAddress("ollama", "llama3.2:1b", "http://host:11434")),
        ("openai:gpt-x@https://host/v1/", ModelAddress("openai", "gpt-x", "https://host/v1")),
        ("openai:@cf/meta/llama", ModelAddress("openai", "@cf/meta/llama")),
        ("openai:@cf/meta/llama@https://host", ModelAddress("openai", "@cf/meta/llama", "https://host")),
        ("bedrock:anthropic.claude-x-v1:0@eu-west-1", ModelAddress("bedrock", "anthropic.claude-x-v1:0", "eu-west-1")),
        (" anthropic:claude-x ", ModelAddress("anthropic", "claude-x")),
    ],
)
def test_address_is_read(text: str, address: ModelAddress) -> None:
    assert parse_model_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "local", "local:", "nobody:x", "openai:", "openai:a b", "openai:x@https://", "openai:x@http://u:p@h", "openai:x@http://h?q=1"],
)
def test_address_is_refused(text: str) -> None:
    with pytest.raises(BadModelAddress):
        parse_model_address(text)


@given(st.sampled_from([name for name in PROVIDERS if name != "local"]), NAMES, PLACES)
def test_address_with_a_place_reads_as_it_is_written(provider: str, name: str, place: str) -> None:
    address = parse_model_address(f"{provider}:{name}@{place}")
    assert (address.model, address.place) == (name, place)
    assert parse_model_address(str(address)) == address


@pytest.mark.parametrize("address", ["local:minilm", "local:other"])
def test_unknown_local_chat_model_is_refused(address: str) -> None:
    with pytest.raises(BadModelAddress, match="local:smollm2"):
        Models().chat(address)


def test_models_are_local_by_default() -> None:
    models = Models()
    assert (models.chat().model, models.embeddings().model) == ("local:smollm2", "local:minilm")


def test_price_is_that_of_the_address_or_of_the_model_anywhere() -> None:
    settings = ModelSettings(prices={"openai:a": Price(input=Decimal(1)), "openai:a@http://h": Price(input=Decimal(2))})
    found = [settings.price_of(parse_model_address(text)) for text in ("openai:a", "openai:a@http://h", "openai:a@http://i", "openai:b")]
    assert [price and price.input for price in found] == [1, 2, 1, None]


def test_cost_counts_what_the_provider_had_cached() -> None:
    usage = Usage(input=1_000_000, output=500_000, cached=400_000)
    assert Price(input=Decimal(2), output=Decimal(8), cached=Decimal("0.5")).of(usage) == Decimal("5.4")
    assert Price(input=Decimal(2)).of(usage) == 2


@pytest.mark.parametrize("wrong", [{"input": -1}, {"input": 1, "hidden": 2}, {}])
def test_price_that_makes_no_sense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        Price.model_validate(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"chat": "nobody:x"}, {"embeddings": ""}, {"keys": {"opnai": "k"}}, {"keys": {"https://": "k"}}, {"prices": {"gpt": {"input": 1}}}],
)
def test_settings_that_name_nothing_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ModelSettings.model_validate(wrong)


def test_settings_do_not_show_keys() -> None:
    assert "sk-1" not in repr(ModelSettings(keys={"openai": SecretStr("sk-1")}))


def test_meter_adds_up_and_tells() -> None:
    parse_tool_reply: list[Usage] = []
    meter = Meter(lambda model, usage: parse_tool_reply.append(usage))
    meter.add("m", Usage(1, 2, 0, Decimal(1)))
    meter.add("m", Usage(3, 4, 1, Decimal(2)))
    meter.add("n", Usage(1))
    assert meter.totals() == {"m": Usage(4, 6, 1, Decimal(3)), "n": Usage(1, 0, 0, None)}
    assert len(parse_tool_reply) == 3
    assert meter.reset()
    assert meter.totals() == {}


def test_errors_cross_process_boundaries() -> None:
    limited = pickle.loads(pickle.dumps(RateLimited("Slow.", retry_after=3.0)))
    assert (limited.retry_after, limited.code, str(limited)) == (3.0, "rate-limited", str(RateLimited("Slow.")))
    assert pickle.loads(pickle.dumps(BadStructure("No.", text="t", problems=["p"], attempts=2))).problems == ["p"]

"""What is kept in the store, and what is asked again."""

import asyncio
import logging
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.ai import AsyncModels, Models, ModelSettings, Reply, System, Tool, ToolCall, Usage, User
from gateleg.ai.cache import MAX_ENTRY_BYTES, chat_digest, reply_entry, reply_of, text_digest, vector_entry, vector_of
from gateleg.ai.chat_requests import ChatRequest, chat_request
from gateleg.ai.errors import InvalidModelRequest
from gateleg.ai.tables import CachedResult, cache_table
from gateleg.store import AsyncStore, Store, TableMissing
from tests.ai.speaking import asked, events, said
from tests.net.http.faulty import service


@pytest.fixture
def store() -> Store:
    store = Store.embedded()
    store.ensure_tables(cache_table)
    return store


def embedded(*rows: list[float]) -> Any:
    return said({"embeddings": rows, "prompt_eval_count": 4})


def told(text: str) -> Any:
    return said({"model": "m", "message": {"role": "assistant", "content": text}, "done": True, "prompt_eval_count": 4})


def test_vectors_are_asked_for_once(store: Store) -> None:
    with service(embedded([1, 0], [0, 1]), embedded([1, 1])) as server, Models(store=store) as models:
        embeddings = models.embeddings(f"ollama:e@{server.url}")
        first = embeddings.embed(["a", "b"])
        second = embeddings.embed(["b", "c", "a"])
    assert asked(server)["input"] == ["c"]
    assert np.array_equal(second[[2, 0]], first)


def test_awaited_vectors_are_asked_for_once() -> None:
    async def main(url: str) -> Any:
        store = AsyncStore.embedded()
        await store.ensure_tables(cache_table)
        async with AsyncModels(store=store) as models:
            embeddings = models.embeddings(f"ollama:e@{url}")
            return await embeddings.embed(["a"]), await embeddings.embed(["a"])

    with service(embedded([3, 4])) as server:
        first, second = asyncio.run(main(server.url))
    assert np.array_equal(first, second)
    assert len(server.requests) == 1


def test_other_model_purpose_or_variant_is_another_entry() -> None:
    digests = {text_digest(model, variant, purpose, "a") for model in "mn" for variant in ("", "256") for purpose in ("document", "query")}
    assert len(digests) == 8


def test_vectors_are_not_kept_without_a_store_or_if_not_wanted(store: Store) -> None:
    with service(*[embedded([1.0])] * 2) as server, Models(store=store) as models:
        for _ in range(2):
            models.embeddings(f"ollama:e@{server.url}", cache=False).embed(["a"])
    assert len(server.requests) == 2


def test_vector_is_stored_in_four_bytes_a_number(store: Store) -> None:
    Models(store=store).embeddings().embed(["a cat"])
    entry = store.get(CachedResult, digest=text_digest("local:minilm", "", "document", "a cat"))
    assert len(entry.content) == 384 * 4
    assert np.array_equal(vector_of(entry), Models().embeddings().embed(["a cat"])[0])


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20))
def test_vector_comes_back_as_it_was(numbers: list[float]) -> None:
    vector = np.array(numbers, dtype=np.float32)
    assert np.array_equal(vector_of(vector_entry("d", "m", vector, None)), vector)


def test_replies_are_kept_only_if_asked_for(store: Store) -> None:
    with service(told("one"), told("two"), told("three")) as server, Models(store=store) as models:
        address = f"ollama:m@{server.url}"
        kept, other = models.chat(address, cache=True), models.chat(address)
        texts = [chat.reply([User("?")]).text for chat in (kept, kept, other, other)]
    assert texts == ["one", "one", "two", "three"]


def test_kept_reply_takes_nothing_and_says_so(store: Store) -> None:
    with service(told("one")) as server, Models(store=store) as models:
        chat = models.chat(f"ollama:m@{server.url}", cache=True)
        chat.reply([User("?")])
        again = chat.reply([User("?")])
        assert models.usage()[chat.model].input == 4
    assert (again.cached, again.usage.total, again.usage.cost) == (True, 0, Decimal(0))


def test_kept_reply_is_streamed_in_one_piece(store: Store) -> None:
    chunk = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    with service(events(chunk, chunk)) as server, Models(store=store) as models:
        chat = models.chat(f"openai:m@{server.url}", cache=True)
        assert [delta.text for delta in chat.stream([User("?")])] == ["Hi", "Hi", ""]
        assert [delta.text for delta in chat.stream([User("?")])] == ["HiHi", ""]


def test_every_part_of_an_ask_makes_another_entry() -> None:
    plain = chat_request([User("?")], {})
    tool = Tool("t", "d")
    others = [
        replace(plain, messages=(User("!"),)),
        replace(plain, messages=(System("s"), User("?"))),
        replace(plain, temperature=0.0),
        replace(plain, max_tokens=1),
        replace(plain, seed=1),
        replace(plain, stop=("x",)),
        replace(plain, tools=(tool,)),
        replace(plain, tools=(replace(tool, description="e"),)),
        replace(plain, tools=(tool,), tool_choice="none"),
    ]
    assert len({chat_digest("m", one) for one in [plain, *others]}) == 1 + len(others)
    assert chat_digest("m", plain) == chat_digest("m", replace(plain, timeout=3.0))
    assert chat_digest("m", plain) != chat_digest("n", plain)


def test_reply_comes_back_as_it_was() -> None:
    reply = Reply("text", (ToolCall("1", "t", "{}"),), "tools", Usage(1, 2, 3, Decimal("0.5")), "m", "thought")
    entry = reply_entry("d", "m", reply, 1)
    assert entry is not None
    assert reply_of(entry) == reply


def test_reply_that_is_too_large_is_not_kept() -> None:
    text = np.random.default_rng(0).bytes(MAX_ENTRY_BYTES).hex()
    assert reply_entry("d", "m", Reply(text + text[::-1]), None) is None


def test_largest_reply_fits_into_an_item(store: Store) -> None:
    text = np.random.default_rng(0).bytes(MAX_ENTRY_BYTES * 17 // 20).hex()
    entry = reply_entry("d" * 64, "m" * 200, Reply(text), None)
    assert entry is not None
    assert store.put(entry).content == entry.content


def test_entry_that_cannot_be_read_counts_as_none(store: Store) -> None:
    with service(told("one")) as server, Models(store=store) as models:
        address = f"ollama:m@{server.url}"
        store.put(CachedResult(digest=chat_digest(address, ChatRequest((User("?"),))), model=address, content=b"broken"))
        assert models.chat(address, cache=True).reply([User("?")]).text == "one"


def test_expired_entry_counts_as_none(store: Store) -> None:
    with service(embedded([1.0]), embedded([1.0])) as server, Models(ModelSettings(cache_days=1e-9), store=store) as models:
        for _ in range(2):
            models.embeddings(f"ollama:e@{server.url}").embed(["a"])
    assert len(server.requests) == 2


def test_missing_table_is_told_before_anything_is_asked() -> None:
    with service(embedded([1.0])) as server, Models(store=Store.embedded()) as models, pytest.raises(TableMissing):
        models.embeddings(f"ollama:e@{server.url}").embed(["a"])
    assert server.requests == []


def test_answer_that_cannot_be_kept_is_given_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    store = Store.embedded()
    store.ensure_tables(cache_table)
    transport_call = store.transport.call

    def refuse_writes(operation: str, request: dict[str, Any], **options: Any) -> dict[str, Any]:
        if operation == "BatchWriteItem":
            store.delete_tables(cache_table)
        return transport_call(operation, request, **options)

    store.transport.call = refuse_writes  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING), service(told("paid for")) as server, Models(store=store) as models:
        assert models.chat(f"ollama:m@{server.url}", cache=True).reply([User("?")]).text == "paid for"
    assert "could not write a model reply" in caplog.text


def test_cache_without_a_store_is_refused() -> None:
    with pytest.raises(InvalidModelRequest):
        Models().chat(cache=True)

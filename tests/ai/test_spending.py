"""Usage recorded by day, application, tenant and model, and spend caps."""

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from gateleg.ai import (
    MODEL_TABLES,
    Account,
    AsyncModels,
    ModelFailed,
    Models,
    ModelSettings,
    Price,
    Reply,
    Script,
    SpendCapReached,
    Usage,
    UsageDay,
    User,
)
from gateleg.ai.addresses import parse_model_address
from gateleg.ai.errors import InvalidModelRequest, ModelRefused, ModelTimedOut, PriceUnknown, StreamBroken
from gateleg.ai.settings import SpendCaps
from gateleg.ai.spending import Spending
from gateleg.ai.tables import ModelCall, Spend
from gateleg.store import AsyncStore, Store, patch, put
from tests.ai.speaking import events, said
from tests.net.http.faulty import service

MODEL = "openai:x@http://127.0.0.1:1"
#: a token costs 1, in and out
PRICES = {MODEL: Price(input=Decimal(1_000_000), output=Decimal(1_000_000))}
DELPHI = Account("delphi", "acme")


@pytest.fixture
def store() -> Store:
    store = Store.embedded()
    store.ensure_tables(*MODEL_TABLES)
    return store


def settings(**caps: Any) -> ModelSettings:
    return ModelSettings(prices=PRICES, caps=SpendCaps.model_validate(caps))


def today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def recorded(store: Store) -> list[UsageDay]:
    return list(store.query(UsageDay.of_day, day=today()))


def committed(store: Store) -> dict[str, Decimal]:
    found = {scope: store.find(Spend, scope=scope, day=today()) for scope in ("application/delphi", "tenant/acme")}
    return {scope: spend.committed for scope, spend in found.items() if spend is not None}


def test_calls_are_added_up_by_model(store: Store) -> None:
    with Models(settings(), store=store, account=DELPHI) as models:
        chat = models.chat_with(Script([Reply("a", usage=Usage(5, 2, 1)), Reply("b", usage=Usage(7, 3))]), MODEL)
        chat.reply([User("?")])
        list(chat.stream([User("?")]))
    (usage,) = recorded(store)
    assert (usage.application, usage.tenant, usage.model) == ("delphi", "acme", MODEL)
    assert (usage.calls, usage.input, usage.output, usage.cached, usage.cost) == (2, 12, 5, 1, Decimal(17))
    assert (usage.failed, usage.unpriced, usage.estimated) == (0, 0, 0)


def test_unknown_price_is_counted_and_not_taken_for_nothing(store: Store) -> None:
    with Models(store=store, account=DELPHI) as models:
        models.chat_with(Script([Reply("a", usage=Usage(5, 2))]), "openai:unpriced").reply([User("?")])
    (usage,) = recorded(store)
    assert (usage.calls, usage.unpriced, usage.cost) == (1, 1, Decimal(0))


def test_unknown_price_is_refused_under_a_cap(store: Store) -> None:
    script = Script(["never said"])
    with (
        Models(settings(applications={"*": 1}), store=store, account=DELPHI) as models,
        pytest.raises(PriceUnknown, match="openai:unpriced"),
    ):
        models.chat_with(script, "openai:unpriced").reply([User("?")])
    assert script.requests == []


def test_usage_that_the_provider_does_not_tell_is_estimated(store: Store) -> None:
    with Models(settings(), store=store, account=DELPHI) as models:
        reply = models.chat_with(Script([Reply("four words of text", usage=Usage())]), MODEL).reply([User("?")])
    (usage,) = recorded(store)
    assert reply.usage.estimated
    assert usage.estimated == 1
    assert usage.output >= 4
    assert usage.cost == reply.usage.cost == usage.input + usage.output


def test_failed_calls_are_counted_and_cost_nothing(store: Store) -> None:
    script = Script([ModelFailed("down")])
    models = Models(settings(applications={"delphi": 9000}).model_copy(update={"attempts": 1}), store=store, account=DELPHI)
    with models, pytest.raises(ModelFailed):
        models.chat_with(script, MODEL).reply([User("?")])
    (usage,) = recorded(store)
    assert (usage.calls, usage.failed, usage.cost) == (1, 1, Decimal(0))
    assert committed(store) == {"application/delphi": 0}


@pytest.mark.parametrize("caps", [{"applications": {"delphi": 100}}, {"tenants": {"acme": 100}}])
def test_cap_refuses_before_the_call(store: Store, caps: dict[str, Any]) -> None:
    script = Script([Reply("a", usage=Usage(40, 40)), "never said"])
    with Models(settings(**caps), store=store, account=DELPHI) as models:
        chat = models.chat_with(script, MODEL)
        chat.reply([User("?")], max_tokens=50)
        with pytest.raises(SpendCapReached, match="may spend 100") as refused:
            chat.reply([User("?")], max_tokens=50)
    assert len(script.requests) == 1
    assert refused.value.status == 429
    assert 0 < int(refused.value.headers["Retry-After"]) <= 86_400


def test_cap_of_one_account_does_not_hold_another(store: Store) -> None:
    with Models(settings(tenants={"*": 100}), store=store, account=DELPHI) as models:
        models.chat_with(Script([Reply("a", usage=Usage(90, 10))]), MODEL).reply([User("?")], max_tokens=50)
        other = models.billed_to(Account("delphi", "other")).chat_with(Script([Reply("b", usage=Usage(1, 1))]), MODEL)
        assert other.reply([User("?")], max_tokens=50).text == "b"


def test_what_was_reserved_is_corrected_to_what_it_cost(store: Store) -> None:
    with Models(settings(applications={"*": 1000}, tenants={"*": 1000}), store=store, account=DELPHI) as models:
        models.chat_with(Script([Reply("a", usage=Usage(5, 2))]), MODEL).reply([User("?")], max_tokens=500)
    assert committed(store) == {"application/delphi": 7, "tenant/acme": 7}


def test_refusal_of_one_cap_reserves_nothing_under_the_other(store: Store) -> None:
    with Models(settings(applications={"*": 1000}, tenants={"*": 60}), store=store, account=DELPHI) as models:
        chat = models.chat_with(Script([Reply("a", usage=Usage(50, 0))]), MODEL)
        chat.reply([User("?")], max_tokens=30)
        with pytest.raises(SpendCapReached, match="tenant 'acme'"):
            chat.reply([User("?")], max_tokens=30)
    assert committed(store) == {"application/delphi": 50, "tenant/acme": 50}


def test_concurrent_calls_do_not_pass_the_cap_together(store: Store) -> None:
    """Twenty calls begin at once, each for exactly what it is estimated to cost; the cap has room for seven."""
    forecast = Usage(input=10)
    spending = Spending(DELPHI, settings(applications={"*": 75}))
    together = threading.Barrier(20)

    def call(number: int) -> bool:
        with Models(store=store) as models:
            together.wait()
            try:
                models.run(spending.reserve(parse_model_address(MODEL), forecast))
            except SpendCapReached:
                return False
            return True

    with ThreadPoolExecutor(20) as threads:
        begun = list(threads.map(call, range(20)))
    assert sum(begun) == 7
    assert committed(store) == {"application/delphi": 70}


async def test_overshoot_is_at_most_what_calls_in_flight_cost_more_than_estimated() -> None:
    """Calls that cost more than estimated: none begins once the cap is reached, and what went over is theirs."""
    async with AsyncStore.embedded() as store:
        await store.ensure_tables(*MODEL_TABLES)
        script = Script([Reply("a", usage=Usage(0, 100)) for _ in range(30)])
        async with AsyncModels(settings(applications={"*": 120}), store=store, account=DELPHI) as models:
            chat = models.chat_with(script, MODEL)
            results = await asyncio.gather(*(chat.reply([User("?")], max_tokens=10) for _ in range(30)), return_exceptions=True)
        begun = [result for result in results if isinstance(result, Reply)]
        spent = (await store.get(Spend, scope="application/delphi", day=today())).committed
        estimate = (await store.get(UsageDay, day=today(), slot=f'["delphi","acme","{MODEL}"]')).calls
    assert all(isinstance(result, Reply | SpendCapReached) for result in results)
    assert len(script.requests) == len(begun) == estimate
    assert spent == 100 * len(begun)
    # each was estimated at 19 tokens or more, so at most six were in flight when the cap was met
    assert 2 <= len(begun) <= 6


def test_stream_that_is_given_up_counts_with_what_had_come(store: Store) -> None:
    with Models(settings(applications={"*": 10_000}), store=store, account=DELPHI) as models:
        stream = models.chat_with(Script(["one two three four five six"]), MODEL).stream([User("?")], max_tokens=1000)
        next(stream)
        stream.close()
    (usage,) = recorded(store)
    assert (usage.calls, usage.estimated, usage.output) == (1, 1, 1)
    assert committed(store) == {"application/delphi": usage.cost}


async def test_call_that_is_cancelled_counts_with_its_estimate() -> None:
    async with AsyncStore.embedded() as store:
        await store.ensure_tables(*MODEL_TABLES)
        asked = asyncio.Event()

        class Slow(Script):
            def reply(self, chat_request: Any, deadline: Any) -> Any:
                from gateleg.store.flow import Pause

                yield Pause(0)
                raise AssertionError

        async def wait(seconds: float) -> None:
            asked.set()
            await asyncio.Event().wait()

        async with AsyncModels(settings(applications={"*": 10_000}), store=store, account=DELPHI, sleep=wait) as models:
            task = asyncio.create_task(models.chat_with(Slow([]), MODEL).reply([User("?")], max_tokens=1000))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        (usage,) = [usage async for usage in store.query(UsageDay.of_day, day=today())]
        assert (usage.estimated, usage.output) == (1, 1000)
        assert (await store.get(Spend, scope="application/delphi", day=today())).committed == usage.cost


def test_call_that_timed_out_counts_with_its_estimate(store: Store) -> None:
    with Models(settings(), store=store, account=DELPHI) as models, pytest.raises(ModelTimedOut):
        models.chat_with(Script([ModelTimedOut("late")]), MODEL).reply([User("?")], max_tokens=10)
    (usage,) = recorded(store)
    assert (usage.failed, usage.estimated, usage.output) == (0, 1, 10)


def test_stream_that_breaks_counts_with_what_had_come(store: Store) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Once upon a time"}}]}
    models = Models(store=store, account=DELPHI)
    with service(events(chunk, done=False, whole=False, end="close")) as server, models, pytest.raises(StreamBroken):
        list(models.chat(f"openai:x@{server.url}").stream([User("?")], max_tokens=1000))
    (usage,) = recorded(store)
    assert (usage.estimated, usage.unpriced) == (1, 1)
    assert 0 < usage.output < 1000


def test_structure_pays_for_every_attempt(store: Store) -> None:
    from pydantic import BaseModel

    class Topic(BaseModel):
        name: str

    script = Script([Reply("no", usage=Usage(1, 1)), Reply('{"name": "x"}', usage=Usage(1, 1))])
    with Models(settings(), store=store, account=DELPHI) as models:
        assert models.chat_with(script, MODEL).structured(Topic, [User("?")]).attempts == 2
    assert [usage.calls for usage in recorded(store)] == [2]


def test_embeddings_are_recorded_and_capped(store: Store) -> None:
    with service(said({"embeddings": [[1.0]], "prompt_eval_count": 4})) as server:
        address = f"ollama:e@{server.url}"
        prices = {address: Price(input=Decimal(1_000_000))}
        capped = ModelSettings(prices=prices, caps=SpendCaps(applications={"*": Decimal(8)}))
        with Models(capped, store=store, account=DELPHI) as models:
            models.embeddings(address).embed(["a text"])
            with pytest.raises(SpendCapReached):
                models.embeddings(address).embed(["another, much longer text than before"])
    assert [(usage.input, usage.cost) for usage in recorded(store)] == [(4, Decimal(4))]
    assert len(server.requests) == 1


def test_answer_of_the_cache_is_not_a_call(store: Store) -> None:
    answer = said({"message": {"content": "Yes"}, "done": True, "prompt_eval_count": 4})
    with service(answer) as server, Models(store=store, account=DELPHI) as models:
        chat = models.chat(f"ollama:m@{server.url}", cache=True)
        assert [chat.reply([User("?")]).text for _ in range(2)] == ["Yes", "Yes"]
    assert [usage.calls for usage in recorded(store)] == [1]


def test_usage_that_cannot_be_recorded_does_not_lose_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    with Store.embedded() as bare, Models(store=bare, account=DELPHI) as models, caplog.at_level(logging.WARNING):
        assert models.chat_with(Script(["Yes"])).reply([User("?")]).text == "Yes"
    assert "could not record" in caplog.text


def test_account_needs_a_store() -> None:
    with pytest.raises(InvalidModelRequest, match="Recording usage needs a store"):
        Models(account=DELPHI)
    with pytest.raises(InvalidModelRequest):
        AsyncModels().billed_to(DELPHI)


async def test_models_for_threads_record_on_the_loops_store() -> None:
    async with AsyncStore.embedded() as store:
        await store.ensure_tables(*MODEL_TABLES)
        async with AsyncModels(settings(), store=store, account=DELPHI) as models:
            blocking = models.for_threads()
            chat = blocking.chat_with(Script([Reply("a", usage=Usage(1, 1))]), MODEL)
            assert (await asyncio.to_thread(chat.reply, [User("?")])).text == "a"
            assert [usage.calls async for usage in store.query(UsageDay.of_day, day=today())] == [1]
            with pytest.raises(InvalidModelRequest, match="on the event loop"):
                blocking.chat_with(Script(["b"]), MODEL).reply([User("?")])
            assert models.usage()[MODEL].total == 2


def test_tenants_and_applications_see_their_days(store: Store) -> None:
    with Models(settings(), store=store, account=Account("mv")) as models:
        models.chat_with(Script([Reply("a", usage=Usage(1, 1))]), MODEL).reply([User("?")])
        models.billed_to(Account("mv", "a#b")).chat_with(Script([Reply("a", usage=Usage(1, 1))]), MODEL).reply([User("?")])
    assert len(list(store.query(UsageDay.of_application, application="mv"))) == 2
    assert [usage.tenant for usage in store.query(UsageDay.of_tenant, tenant="a#b")] == ["a#b"]


def test_requests_are_counted_and_paid_for(store: Store) -> None:
    prices = {MODEL: Price(request=Decimal("0.5"))}
    with Models(ModelSettings(prices=prices), store=store, account=DELPHI) as models:
        models.chat_with(Script([Reply("a", usage=Usage(5, 2))]), MODEL).reply([User("?")])
    assert [(usage.requests, usage.cost) for usage in recorded(store)] == [(1, Decimal("0.5"))]


def ledger(store: Store) -> list[ModelCall]:
    return sorted(store.export(ModelCall), key=lambda call: call.call_id)


def test_every_call_has_one_row_that_agrees_with_the_sums(store: Store) -> None:
    account = Account("delphi", "acme", subject="run-1", purpose="answer", labels={"run": "1"})
    script = Script([Reply("a", usage=Usage(3, 4)), ModelRefused("no"), Reply("b", usage=Usage(1, 1))])
    with Models(settings(), store=store, account=account) as models:
        chat = models.chat_with(script, MODEL)
        chat.reply([User("?")])
        with pytest.raises(ModelRefused):
            chat.reply([User("?")])
        chat.reply([User("?")])
    calls = ledger(store)
    assert [(call.subject, call.purpose, call.labels, call.status, call.cost) for call in calls] == [
        ("delphi/acme/run-1", "answer", {"run": "1"}, "answered", Decimal(7)),
        ("delphi/acme/run-1", "answer", {"run": "1"}, "failed", Decimal(0)),
        ("delphi/acme/run-1", "answer", {"run": "1"}, "answered", Decimal(2)),
    ]
    (day,) = recorded(store)
    assert (day.calls, day.failed, day.input, day.output, day.cost) == (3, 1, 4, 5, Decimal(9))


class Killed(BaseException):
    """The process ends here."""


def record_nothing(call: ModelCall) -> list[Any]:
    return []


def lose_a_call(store: Store, account: Account, **caps: Any) -> None:
    """A call whose process is killed before its end is recorded."""

    def die(call: ModelCall) -> list[Any]:
        raise Killed

    with Models(settings(**caps), store=store, account=replace(account, record=die)) as models, pytest.raises(Killed):
        models.chat_with(Script([Reply("a", usage=Usage(3, 4))]), MODEL).reply([User("?")], max_tokens=10)


def test_a_lost_call_is_ended_once_with_its_estimate(store: Store) -> None:
    account = Account("delphi", "acme", subject="run-1")
    lose_a_call(store, account, applications={"*": 1000})
    (call,) = ledger(store)
    assert (call.status, call.output) == ("open", 10)
    reserved = committed(store)
    with Models(settings(applications={"*": 1000}), store=store, account=account) as others:
        # The sums that the application keeps would lack it.
        assert others.settle_lost("run-1") == 0
        models = others.billed_to(replace(account, record=record_nothing))
        for number in (1, 0):
            assert models.settle_lost("run-1") == number
    (call,) = ledger(store)
    assert (call.status, call.estimated, call.cost) == ("unknown", True, Decimal(call.input + 10))
    (day,) = recorded(store)
    assert (day.calls, day.estimated, day.cost) == (1, 1, call.cost)
    assert committed(store) == reserved


def test_a_call_that_another_process_ended_as_lost_is_not_counted_again(store: Store) -> None:
    account = Account("delphi", "acme", subject="run-1")
    with Models(settings(), store=store, account=account) as models, Models(settings(), store=store, account=account) as others:

        def speak(request: Any) -> Reply:
            assert others.settle_lost("run-1") == 1
            return Reply("a", usage=Usage(3, 4))

        models.chat_with(Script([speak]), MODEL).reply([User("?")], max_tokens=10)
    (call,), (day,) = ledger(store), recorded(store)
    assert (call.status, day.calls, day.cost) == ("unknown", 1, call.cost)


def test_calls_that_last_longer_than_any_can_are_lost(store: Store) -> None:
    lose_a_call(store, DELPHI)
    lose_a_call(store, Account("other"))
    with Models(settings(), store=store, account=DELPHI) as models:
        assert models.settle_lost() == 0
        later = Spending(
            replace(DELPHI, record=record_nothing),
            settings(),
            lambda: datetime.now(UTC) + timedelta(seconds=settings().total_seconds + 121),
        )
        assert models.run(later.settle_lost()) == 1
    assert sorted((call.application, call.status) for call in ledger(store)) == [("delphi", "unknown"), ("other", "open")]


def test_sums_of_the_application_are_written_with_the_call_and_left_out_once_their_item_is_gone(store: Store) -> None:
    gone = UsageDay.key(day="2020-01-01", slot="gone")

    def record(call: ModelCall) -> list[Any]:
        return [
            patch(gone, UsageDay.calls.add(1)),
            put(UsageDay(day=call.day, slot="own", application="own", model="m", cost=call.cost or Decimal(0))),
        ]

    with Models(settings(), store=store, account=replace(DELPHI, record=record)) as models:
        models.chat_with(Script([Reply("a", usage=Usage(3, 4))]), MODEL).reply([User("?")])
    assert sorted((day.application, day.cost) for day in recorded(store)) == [("delphi", Decimal(7)), ("own", Decimal(7))]


def test_a_model_has_the_name_of_its_provider_and_no_address_in_every_record(store: Store) -> None:
    named = ModelSettings.model_validate({"providers": {"fake": {"url": "http://127.0.0.1:1"}}, "prices": {"fake:x": {"input": 1}}})
    with Models(named, store=store, account=DELPHI) as models:
        models.chat_with(Script([Reply("a", usage=Usage(3, 4))]), MODEL).reply([User("?")])
        models.book("fake:x", Usage(1_000_000, 0))
    assert {call.model for call in ledger(store)} == {"fake:x"}
    (day,) = recorded(store)
    assert (day.model, day.calls, day.cost) == ("fake:x", 2, Decimal("1.000003"))

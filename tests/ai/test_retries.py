"""When a call is tried again, how long it waits, and what comes of it in the end."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.ai import ModelFailed, ModelSettings, ModelUnreachable, RateLimited, User
from gateleg.ai.errors import InvalidModelRequest, ModelRefused, ModelTimedOut
from gateleg.ai.setup import CallDeadline, RetryPolicy
from gateleg.ai.steps import Flow, completed
from gateleg.net import Retries
from gateleg.net.http import HttpRequest
from tests.ai.driving import Asker, Ticking
from tests.ai.speaking import said
from tests.net.http.faulty import CLOSE, RESET, SILENCE, answer, service

Asking = Callable[..., Asker]
YES = said({"model": "m", "message": {"role": "assistant", "content": "Yes"}, "done": True})


def busy(status: int = 429, **headers: str) -> Any:
    return said({"error": {"message": "slow down", "code": "rate_limit"}}, status, **headers)


@pytest.mark.parametrize("first", [busy(429), busy(500), busy(503), busy(529), RESET, CLOSE])
def test_what_passes_is_tried_again(asker: Asking, first: Any) -> None:
    with service(first, YES) as server:
        assert asker(f"ollama:m@{server.url}").reply([User("?")]).text == "Yes"
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_does_not_pass_is_not_tried_again(asker: Asking, status: int) -> None:
    with service(busy(status)) as server, pytest.raises(Exception, match=f"answered {status}"):
        asker(f"ollama:m@{server.url}").reply([User("?")])
    assert len(server.requests) == 1


def test_waits_grow_and_end(asker: Asking) -> None:
    with service(*[busy(500)] * 4) as server:
        asks = asker(f"ollama:m@{server.url}")
        with pytest.raises(ModelFailed):
            asks.reply([User("?")])
    assert len(server.requests) == 4
    assert all(pause <= longest for pause, longest in zip(asks.clock.pauses, (0.5, 1.0, 2.0), strict=True))


def test_service_is_left_alone_as_long_as_it_wants(asker: Asking) -> None:
    with service(busy(429, retry_after="7"), YES) as server:
        asks = asker(f"ollama:m@{server.url}")
        asks.reply([User("?")])
    assert 7 <= asks.clock.pauses[0] <= 7.5


def test_wait_beyond_the_time_of_the_call_is_not_begun(asker: Asking) -> None:
    with service(busy(429, retry_after="60")) as server:
        asks = asker(f"ollama:m@{server.url}")
        with pytest.raises(RateLimited) as failed:
            asks.reply([User("?")], timeout=30)
    assert failed.value.retry_after == 60
    assert asks.clock.pauses == []


def test_empty_account_is_not_waited_for(asker: Asking) -> None:
    with service(said({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}, 429)) as server:
        with pytest.raises(RateLimited) as failed:
            asker(f"openai:m@{server.url}").reply([User("?")])
        assert not failed.value.passing
    assert len(server.requests) == 1


def test_silence_is_given_up_and_not_tried_again(asker: Asking) -> None:
    with service(SILENCE) as server, pytest.raises(ModelTimedOut):
        asker(f"ollama:m@{server.url}", ModelSettings(silence_seconds=0.05)).reply([User("?")])
    assert server.left.wait(10)
    assert len(server.requests) == 1


def test_service_that_is_not_there_is_unreachable(asker: Asking) -> None:
    with service() as server:
        url = server.url
    with pytest.raises(ModelUnreachable, match="No connection"):
        asker(f"ollama:m@{url}", attempts=1).reply([User("?")])


def test_timeout_of_nothing_is_refused(asker: Asking) -> None:
    with pytest.raises(InvalidModelRequest):
        asker("ollama:m").reply([User("?")], timeout=0)


def test_retries_of_all_calls_share_a_budget() -> None:
    clock = Ticking()
    retry_policy = RetryPolicy(retries=Retries(attempts=9, burst=3, rate=0.0, random=lambda: 0.0, ticks=clock.ticks))
    tries: list[CallDeadline] = []

    def attempt(deadline: CallDeadline) -> Flow[None]:
        tries.append(deadline)
        raise ModelFailed("No.")
        yield  # type: ignore[unreachable]

    for _ in range(2):
        with pytest.raises(ModelFailed):
            for _ in retry_policy.attempts(attempt):
                pass
    assert len(tries) == 3 + 2


def test_deadline_ends_a_call_before_its_next_attempt() -> None:
    clock = Ticking()
    deadline = RetryPolicy(total=5.0, retries=Retries(ticks=clock.ticks)).deadline()
    assert deadline.left() == 5
    clock.sleep(5)
    with pytest.raises(ModelTimedOut):
        deadline.opening(HttpRequest("http://localhost"))


def test_flow_without_steps_has_its_result_at_once() -> None:
    with pytest.raises(StopIteration) as end:
        next(completed(5))
    assert end.value.value == 5


def test_refusal_of_a_proxy_does_not_show_its_page(asker: Asking) -> None:
    with service(answer(b"<html><body>No such page</body></html>", 404)) as server, pytest.raises(ModelRefused) as failed:
        asker(f"ollama:m@{server.url}").reply([User("?")])
    assert "html" not in str(failed.value)

"""The HTTP transports with services that fail in every way."""

import gzip
from dataclasses import replace
from typing import Any

import pytest

from gateleg.net import Retries, ServiceClock
from gateleg.net.http import Timeouts
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.transports.http import HttpOptions
from tests.net.http.faulty import CLOSE, RESET, SILENCE, Act, answer, refusal, service
from tests.store.transports.callers import KEY, Make

GET: dict[str, Any] = {"TableName": "t", "Key": {}}
COUNT: dict[str, Any] = {"TableName": "t", "UpdateExpression": "ADD n :one"}
PATIENT = HttpOptions(timeouts=Timeouts(connect=5, read=10))
HASTY = HttpOptions(timeouts=Timeouts(connect=5, read=0.05))


def test_one_connection_carries_many_requests(make: Make) -> None:
    with service() as play:
        caller = make(play.url)
        for _ in range(5):
            assert caller.call("GetItem", GET) == {}
        assert (play.connections, len(play.requests), caller.waits) == (1, 5, [])


@pytest.mark.parametrize("lost", [RESET, CLOSE, Act((b"HTTP/1.1 200 OK\r\nContent-Le",), "close"), answer(b"{}", x_amz_crc32="1")])
def test_a_read_is_retried_after_a_lost_answer(make: Make, lost: Act) -> None:
    with service(lost, answer(b'{"Item":{}}')) as play:
        caller = make(play.url)
        assert caller.call("GetItem", GET) == {"Item": {}}
        assert caller.waits == [0.05]
        assert play.requests[0].partition(b"\r\n\r\n")[2] == play.requests[1].partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("lost", [RESET, CLOSE, answer(b"{}", content_length="10", end="close"), refusal("InternalServerError", 500)])
def test_a_counter_update_is_not_retried_after_a_lost_answer(make: Make, lost: Act) -> None:
    with service(lost) as play:
        with pytest.raises((Unreachable, ServiceError)) as caught:
            make(play.url).call("UpdateItem", COUNT)
        assert (len(play.requests), caught.value.attempts) == (1, 1)  # type: ignore[attr-defined]


def test_a_connection_that_was_closed_between_calls_is_not_used(make: Make) -> None:
    with service(answer(end="close")) as play:
        caller = make(play.url)
        caller.call("UpdateItem", COUNT)
        assert play.closed.wait(10)
        caller.call("UpdateItem", COUNT)
        assert (play.connections, len(play.requests), caller.waits) == (2, 2, [])


def test_a_kept_connection_that_is_reset_is_replaced_at_once(make: Make) -> None:
    with service(answer(), RESET) as play:
        caller = make(play.url)
        caller.call("GetItem", GET)
        assert caller.call("GetItem", GET) == {}
        assert (play.connections, caller.waits) == (2, [0.0])


def test_a_kept_connection_that_is_reset_under_a_counter_leaves_it_unknown(make: Make) -> None:
    with service(answer(), RESET) as play:
        caller = make(play.url)
        caller.call("GetItem", GET)
        with pytest.raises(Unreachable):
            caller.call("UpdateItem", COUNT)
        assert len(play.requests) == 2


def test_throttling_is_retried_after_a_wait(make: Make) -> None:
    throttled = refusal("ProvisionedThroughputExceededException")
    with service(throttled, throttled, answer()) as play:
        caller = make(play.url)
        assert caller.call("UpdateItem", COUNT) == {}
        assert caller.waits == [0.05, 0.1]
        assert play.connections == 1


def test_reads_are_retried_after_service_errors(make: Make) -> None:
    with service(refusal("InternalServerError", 500), answer(b"<html>", 503)) as play:
        caller = make(play.url)
        assert caller.call("GetItem", GET) == {}
        assert caller.waits == [0.05, 0.1]


def test_a_service_that_stays_down_is_an_error(make: Make) -> None:
    with service(*[refusal("InternalServerError", 500)] * 9) as play:
        caller = make(play.url, HttpOptions(retries=Retries(attempts=3)))
        with pytest.raises(ServiceError) as caught:
            caller.call("GetItem", GET)
        assert (caught.value.code, caught.value.status, caught.value.attempts) == ("InternalServerError", 500, 3)


def test_calls_share_their_budget_of_retries(make: Make) -> None:
    with service(*[refusal("InternalServerError", 500)] * 9) as play:
        caller = make(play.url, HttpOptions(retries=Retries(burst=2, rate=0.0)))
        for _ in range(2):
            with pytest.raises(ServiceError):
                caller.call("GetItem", GET)
        assert len(play.requests) == 4


def test_a_service_that_is_not_there(make: Make) -> None:
    with service() as play:
        url = play.url
    caller = make(url, HttpOptions(retries=Retries(attempts=2)))
    with pytest.raises(Unreachable, match="No connection to http://") as caught:
        caller.call("UpdateItem", COUNT)
    assert (caught.value.attempts, len(caller.waits)) == (2, 1)


def test_silence_ends_with_the_read_timeout(make: Make) -> None:
    with service(SILENCE) as play:
        caller = make(play.url, replace(HASTY, retries=Retries(attempts=1)))
        with pytest.raises(Unreachable, match="did not answer in time"):
            caller.call("GetItem", GET)
        assert play.left.wait(10)


def test_silence_in_the_middle_of_an_answer_ends_too(make: Make) -> None:
    with service(Act((b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",), "silence"), answer()) as play:
        caller = make(play.url, HASTY)
        assert caller.call("GetItem", GET) == {}
        assert play.left.wait(10)


def test_the_timeout_of_a_call_holds_for_all_of_it(make: Make) -> None:
    with service(SILENCE) as play:
        with pytest.raises(Unreachable):
            make(play.url, PATIENT).call("GetItem", GET, timeout=0.05)
        assert play.left.wait(10)
        assert len(play.requests) == 1


def test_a_call_does_not_wait_beyond_its_timeout(make: Make) -> None:
    with service(refusal("ThrottlingException")) as play:
        caller = make(play.url, HttpOptions(retries=Retries(first=60, longest=60)))
        with pytest.raises(ServiceError, match="ThrottlingException"):
            caller.call("GetItem", GET, timeout=5)
        assert caller.waits == []


def test_an_answer_in_pieces(make: Make) -> None:
    whole = answer(b'{"Item":{"a":{"S":"' + b"x" * 300_000 + b'"}}}').pieces[0]
    pieces = tuple(whole[start : start + 50_000] for start in range(0, len(whole), 50_000))
    with service(Act(pieces)) as play:
        assert len(make(play.url).call("GetItem", GET)["Item"]["a"]["S"]) == 300_000


def test_compressed_answers_are_requested_and_read(make: Make) -> None:
    with service(answer(gzip.compress(b'{"Item":{}}'), content_encoding="gzip")) as play:
        assert make(play.url, HttpOptions(gzip=True)).call("GetItem", GET) == {"Item": {}}
        assert b"\r\nAccept-Encoding: gzip\r\n" in play.requests[0]


def test_extra_data_is_not_used_as_the_next_answer(make: Make) -> None:
    with service(answer(), answer(b'{"Item":{}}')) as play:
        caller = make(play.url)
        play.script[0] = Act((play.script[0].pieces[0] * 2,))
        assert caller.call("GetItem", GET) == {"Item": {}}
        assert play.connections == 2


def test_a_connection_that_the_service_gives_up_is_not_kept(make: Make) -> None:
    with service(answer(connection="close", end="close")) as play:
        caller = make(play.url)
        caller.call("GetItem", GET)
        caller.call("GetItem", GET)
        assert play.connections == 2


def test_a_connection_is_not_kept_for_ever(make: Make) -> None:
    with service() as play:
        caller = make(play.url, HttpOptions(timeouts=Timeouts(idle=0.0)))
        caller.call("GetItem", GET)
        caller.call("GetItem", GET)
        assert play.connections == 2


def test_a_wrong_clock_is_corrected_by_the_answer(make: Make) -> None:
    skewed = refusal("InvalidSignatureException", message="Signature expired", date="Sun, 06 Nov 1994 08:49:37 GMT")
    with service(skewed) as play:
        caller = make(play.url, clock=ServiceClock(lambda: 1_700_000_000.0))
        caller.call("UpdateItem", COUNT)
        caller.call("UpdateItem", COUNT)
        stamps = [request.partition(b"X-Amz-Date: ")[2][:16] for request in play.requests]
        assert stamps == [b"20231114T221320Z", b"19941106T084937Z", b"19941106T084937Z"]


class Turncoat:
    """A source whose credentials change when they expire."""

    def __init__(self) -> None:
        self.expired = False

    def current(self) -> Any:
        return None if self.expired else KEY

    def load(self) -> Any:
        return replace(KEY, token="fresh")

    def expire(self) -> None:
        self.expired = True


def test_expired_credentials_are_replaced(make: Make) -> None:
    with service(refusal("ExpiredTokenException")) as play:
        make(play.url, HttpOptions(credentials=Turncoat())).call("UpdateItem", COUNT)
        assert [b"X-Amz-Security-Token: fresh" in request for request in play.requests] == [False, True]

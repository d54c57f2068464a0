import inspect
import logging
import re
from typing import TypeVar

import httpx
import pytest
from fastapi import FastAPI

from gateleg import jobs
from gateleg.ai import errors as ai_errors
from gateleg.errors import GatelegError
from gateleg.host import errors
from gateleg.host.errors import Refusal
from gateleg.jobs import errors as job_errors
from gateleg.model import errors as model_errors
from gateleg.objects import errors as object_errors
from gateleg.store import errors as store_errors
from gateleg.store.errors import StoreError
from gateleg.web.envelope import advice_for, body_of, error_response, status_of
from tests.web.sample import Song

E = TypeVar("E", bound=GatelegError)


def kinds(module: object, base: type[E]) -> list[type[E]]:
    found = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, base)]
    assert found
    return found


KIT: list[type[GatelegError]] = [
    *kinds(job_errors, job_errors.JobError),
    *kinds(object_errors, object_errors.ObjectsError),
    *kinds(store_errors, StoreError),
    *kinds(ai_errors, ai_errors.AiError),
]


@pytest.mark.parametrize("kind", KIT)
def test_every_error_of_the_kit_has_a_status(kind: type[GatelegError]) -> None:
    error = kind.__new__(kind)
    assert 300 <= status_of(error) < 600
    if status_of(error) < 500:
        assert getattr(kind, "code", "")


def test_what_the_caller_did_wrong_is_never_the_hosts_fault() -> None:
    callers_fault = (
        jobs.UnknownJobType,
        jobs.BadConfig,
        jobs.JobMissing,
        store_errors.BadLimit,
        store_errors.CursorRejected,
        store_errors.NotFound,
        object_errors.ObjectMissing,
    )
    assert all(status_of(kind("x")) < 500 for kind in callers_fault)
    assert status_of(model_errors.S3KeyRefused.__new__(model_errors.S3KeyRefused)) == 422
    assert status_of(ValueError()) == 500


@pytest.mark.parametrize("kind", kinds(errors, Refusal))
def test_every_refusal_of_the_host_has_a_code_of_its_own_and_a_status(kind: type[Refusal]) -> None:
    assert 400 <= kind.status < 600
    assert kind.__doc__


def test_an_error_of_a_language_model_is_told_as_what_it_is() -> None:
    told = body_of(ai_errors.RateLimited("The service wants a pause."))["error"]
    assert (told["code"], status_of(ai_errors.RateLimited("x"))) == ("rate-limited", 503)


def test_an_error_of_any_room_is_answered_by_its_own_status() -> None:
    class Teapot(GatelegError):
        code, status, fix = "teapot", 418, "Ask the coffee pot."

    error = Teapot("This is a teapot.")
    error.details = {"handle": "left"}
    assert status_of(error) == 418
    assert body_of(error)["error"] == {
        "code": "teapot",
        "message": "This is a teapot.",
        "details": {"fix": "Ask the coffee pot.", "handle": "left"},
    }


def test_an_error_says_what_why_and_what_to_do() -> None:
    told = body_of(store_errors.LostRace("It changed."))["error"]
    assert (told["code"], told["message"]) == ("lost-race", "It changed.")
    assert set(told["details"]) == {"fix", "why"}


def test_what_nobody_expected_is_not_told() -> None:
    assert "secret" not in str(body_of(RuntimeError("secret")))
    assert "secret" not in str(body_of(store_errors.AccessDenied("secret")))
    assert body_of(KeyError("x"))["error"]["code"] == "internal"


async def test_an_error_of_an_application_comes_in_the_envelope(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/music/piano")
    assert answer.status_code == 418
    assert answer.json() == {"error": {"code": "out-of-tune", "message": "The A is flat.", "details": {"fix": "Tune it.", "cents": -12}}}


@pytest.mark.parametrize("path", ["/api/music/broken", "/api/music/broken?misused=true"])
async def test_a_fault_is_logged_under_the_request_id_and_told_without_its_reason(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    with caplog.at_level(logging.ERROR, "gateleg.web"):
        answer = await client.get(path, headers={"x-request-id": "request-1234"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text
    (record,) = [record for record in caplog.records if record.exc_info]
    assert record.__dict__["request_id"] == "request-1234"


@pytest.mark.parametrize(
    ("method", "path", "status", "expected"),
    [
        ("GET", "/api/nothing", 404, "not-found"),
        ("GET", "/api", 404, "not-found"),
        ("GET", "/events/nothing", 404, "not-found"),
        ("PATCH", "/api/jobs", 405, "method-not-allowed"),
        ("DELETE", "/health", 405, "method-not-allowed"),
        ("POST", "/metrics", 405, "method-not-allowed"),
        ("GET", "/api/jobs/nothing", 422, "invalid"),
        ("GET", "/api/jobs?limit=0", 422, "invalid"),
        ("GET", "/api/jobs?status=LOST", 422, "invalid"),
        ("GET", "/nothing", 404, "not-found"),
    ],
)
async def test_what_http_itself_refuses_comes_in_the_envelope(
    client: httpx.AsyncClient, method: str, path: str, status: int, expected: str
) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, expected)
    if status == 405:
        assert answer.headers["allow"]


async def test_a_body_that_is_no_json_comes_in_the_envelope(client: httpx.AsyncClient) -> None:
    for content, kind in ((b"{", "application/json"), (b"\xff", "application/json"), (b"{}", "text/plain")):
        answer = await client.post("/api/jobs", content=content, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["error"]["code"]) in ((422, "invalid"), (400, "bad-request"))


async def test_an_entity_that_does_not_fit_what_was_sent_is_told_without_its_value(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"/api/music/songs/{'x' * 60}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    assert [problem["at"] for problem in answer.json()["error"]["details"]["problems"]] == [["title"]]
    assert "x" * 60 not in answer.text


async def test_an_entity_that_does_not_fit_without_anything_sent_is_a_fault_here(client: httpx.AsyncClient, app: FastAPI) -> None:
    app.add_api_route("/own", lambda: Song(artist="Nina", title="y" * 60), methods=["GET"], response_model=None)
    answer = await client.get("/own")
    assert (answer.status_code, "y" * 10 in answer.text) == (500, False)


async def test_a_mistake_in_the_code_of_an_application_is_logged(
    client: httpx.AsyncClient, app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    async def mistaken() -> None:
        raise job_errors.WrongArgument("The secret is out.")

    app.add_api_route("/mistaken", mistaken, methods=["GET"])
    with caplog.at_level(logging.ERROR, "gateleg.web"):
        answer = await client.get("/mistaken")
    assert (answer.status_code, "secret" in answer.text) == (500, False)
    assert "The secret is out." in caplog.text


async def test_advice_is_for_whoever_uses_the_api_and_not_for_whoever_writes_it(client: httpx.AsyncClient) -> None:
    assert (await client.post("/api/music/songs/again")).status_code == 200
    answer = await client.post("/api/music/songs/again")
    assert (answer.status_code, answer.json()["error"]["details"]["fix"]) == (409, "Choose another key, or change the existing item.")
    for kind in (*kinds(store_errors, StoreError), *kinds(object_errors, object_errors.ObjectsError)):
        error = kind.__new__(kind)
        assert not re.search("Use find|upsert|cursor_key|retrying|create_tables|hydrate|if_absent|with exists|`", advice_for(error))
    for error in (model_errors.NaiveTime("x"), model_errors.EmptySet("x"), job_errors.UnknownJobType("x")):
        assert not re.search("datetime|wire|handler", advice_for(error))
    for kind in (*kinds(model_errors, model_errors.ModelError), *kinds(job_errors, job_errors.JobError)):
        error = kind.__new__(kind)
        if status_of(error) < 500:
            assert not re.search(r"declar|\.to\(|\.where|\.filter|Python|Entity|await|def |`", advice_for(error)), kind


@pytest.mark.parametrize(
    "kind",
    [model_errors.UnservedPattern, model_errors.NotAnEntity, model_errors.NotAQuery, job_errors.WrongArgument, job_errors.BadHandler],
)
def test_a_mistake_in_the_code_of_an_application_is_a_fault_of_the_host(kind: type[GatelegError]) -> None:
    response = error_response(kind("Order.of_customer is wrong."))
    assert response.status_code == 500
    assert b"of_customer" not in response.body


@pytest.mark.parametrize(
    "error",
    [
        object_errors.StorageFailed("'a': Could not connect to the endpoint URL: http://minio.internal:9000/bucket."),
        object_errors.StorageFull("There is no room for 'a' on minio.internal."),
        store_errors.ServiceFailed("arn:aws:dynamodb:eu-west-1:123456789012:table/minio.internal broke."),
    ],
)
def test_what_a_store_says_of_itself_is_for_the_log_only(error: GatelegError, caplog: pytest.LogCaptureFixture) -> None:
    response = error_response(error)
    assert response.status_code >= 500
    assert b"minio.internal" not in response.body
    assert b"log" in response.body
    assert "minio.internal" in caplog.text


def test_words_of_a_models_service_are_logged_and_not_answered() -> None:
    """They may repeat what was sent to it."""
    from gateleg.ai.error_translation import parse_error_response

    body = b'{"error": {"code": "rate_limit", "message": "You said: the secret plan. Your key sk-0123456789."}}'
    error = parse_error_response(429, {"retry-after": "7"}, body, "sk-0123456789")
    assert "the secret plan" in str(error)
    assert "sk-0123456789" not in str(error)
    told = body_of(error)["error"]
    assert (told["code"], told["message"]) == ("rate-limited", "The service answered 429 (rate_limit).")
    assert "secret plan" not in str(told)
    answered = error_response(error)
    assert (answered.status_code, answered.headers["retry-after"]) == (503, "7")


def test_code_of_a_service_that_is_not_a_name_is_not_answered() -> None:
    from gateleg.ai.error_translation import error_for

    assert body_of(error_for(400, "the secret plan", "x"))["error"]["message"] == "The service answered 400."


def test_address_of_a_service_that_cannot_be_reached_is_not_answered() -> None:
    from gateleg.ai.error_translation import model_error
    from gateleg.net.http import NotConnected

    error = model_error(NotConnected("No connection to http://10.0.0.7:11434: refused.", sent=False))
    assert "10.0.0.7" in error.message
    assert "10.0.0.7" not in str(body_of(error))


async def test_json_without_its_content_type_is_told_how_to_be_sent(client: httpx.AsyncClient) -> None:
    sent = await client.post("/api/jobs", content=b'{"job_type": "add"}')
    assert (sent.status_code, sent.json()["error"]["code"]) == (422, "invalid")
    assert "Content-Type: application/json" in sent.json()["error"]["details"]["fix"]
    typed = await client.post("/api/jobs", json={"job_tipe": "add"})
    assert "/api/docs" in typed.json()["error"]["details"]["fix"]


def test_an_update_that_changes_nothing_advises_the_client() -> None:
    told = body_of(model_errors.EmptyUpdate("The update changes nothing."))["error"]
    assert (told["code"], told["details"]["fix"]) == ("empty-update", "Send at least one attribute to change.")


async def test_a_body_with_very_many_problems_is_answered_with_the_first(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/jobs", json={"job_type": "sing"} | dict.fromkeys(map(str, range(500))))
    assert answer.status_code == 422, answer.text
    assert len(answer.json()["error"]["details"]["problems"]) == 100

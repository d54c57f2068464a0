"""Whose page it is, over real sockets that say what no browser would."""

import time
from collections.abc import Callable, Iterator
from uuid import UUID

import httpx
import pytest

from gateleg.jobs import JobStatus, Submission
from gateleg.web.console.mounting import MAX_UNOPENED_PAGES
from tests.web.console.conftest import Served, serving
from tests.web.console.sockets import Built, opened


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host with keys, and no worker: jobs stay as they are."""
    with serving(tmp_path_factory.mktemp("guarded"), "--keys", "--idle", "--application", "tests.web.console.sample:reels") as served:
        yield served


@pytest.fixture
def job(keyed: Served) -> Iterator[tuple[UUID, Callable[[], JobStatus]]]:
    """A job that was cancelled, and how it is by now."""
    with keyed.queue() as queue:
        job_id = queue.submit(Submission("REEL", {"title": "Guarded"})).job.job_id
        queue.cancel(job_id)
        yield job_id, lambda: queue.get(job_id).status


Job = tuple[UUID, Callable[[], JobStatus]]


def test_an_operators_button_works_for_the_operator(keyed: Served, job: Job) -> None:
    page = Built(keyed.url, f"/jobs/{job[0]}", keyed.tokens["operator"])
    with opened(page) as socket:
        assert socket.accepted
        socket.send("event", page.press("Retry"))
        while job[1]() == JobStatus.CANCELLED:
            socket.send("ack", {"client_id": page.id, "next_message_id": 0})
    assert job[1]() == JobStatus.PENDING


def test_the_event_of_an_operators_button_is_refused_from_the_socket_of_a_viewer(keyed: Served, job: Job) -> None:
    page = Built(keyed.url, f"/jobs/{job[0]}", keyed.tokens["operator"])
    with opened(page) as operator, opened(Built(keyed.url, "/", keyed.tokens["viewer"])) as other:
        assert operator.accepted
        assert other.accepted
        other.send("event", page.press("Retry"))
        operator.send("ack", {"client_id": page.id, "next_message_id": 0})
    assert job[1]() == JobStatus.CANCELLED


def test_a_page_is_not_handed_to_the_socket_of_somebody_else(keyed: Served) -> None:
    page = Built(keyed.url, "/", keyed.tokens["operator"])
    with opened(Built(keyed.url, "/", keyed.tokens["viewer"]), of=page) as thief:
        assert not thief.accepted
    with opened(page) as owner:
        assert owner.accepted


def test_a_later_handshake_for_the_page_of_somebody_else_is_refused(keyed: Served, job: Job) -> None:
    page = Built(keyed.url, f"/jobs/{job[0]}", keyed.tokens["operator"])
    with opened(Built(keyed.url, "/", keyed.tokens["viewer"])) as thief:
        thief.send("handshake", {"client_id": page.id, "tab_id": "x", "document_id": "y", "next_message_id": 0})
        thief.send("event", page.press("Retry"))
    assert job[1]() == JobStatus.CANCELLED


def test_a_page_takes_files_from_whom_it_was_built_for_and_from_nobody_else(keyed: Served) -> None:
    page = Built(keyed.url, "/objects?prefix=guarded/", keyed.tokens["operator"])
    (place,) = [props["url"] for element in page.elements.values() if "url" in (props := element.get("props", {}))]
    answers = {}
    for role in ("viewer", "member", "operator"):
        headers = {"authorization": f"Bearer {keyed.tokens[role]}"}
        answers[role] = httpx.post(keyed.url + place, headers=headers, files={"file": (f"{role}.txt", b"hello")}, timeout=60).status_code
    assert answers == {"viewer": 403, "member": 403, "operator": 200}
    # The page takes what has been received after it has answered.
    deadline = time.monotonic() + 60
    while not (listed := _listed(keyed)):
        assert time.monotonic() < deadline
    assert listed == ["guarded/operator.txt"]


def _listed(keyed: Served) -> list[str]:
    found = httpx.get(f"{keyed.url}/api/objects?prefix=guarded/", headers={"authorization": f"Bearer {keyed.tokens['viewer']}"}, timeout=60)
    return [entry["key"] for entry in found.json()["objects"]]


def test_a_viewers_page_has_no_button_to_press(keyed: Served, job: Job) -> None:
    page = Built(keyed.url, f"/jobs/{job[0]}", keyed.tokens["viewer"])
    with pytest.raises(AssertionError, match="no button"):
        page.press("Retry")


@pytest.mark.parametrize("message", [None, [], "x", {}, {"client_id": 7}, {"client_id": "none"}])
def test_nonsense_is_not_acted_upon(keyed: Served, message: object) -> None:
    page = Built(keyed.url, "/", keyed.tokens["viewer"])
    with opened(page) as socket:
        socket.send("event", message)
        socket.send("event", {"client_id": page.id, "id": 10**9, "listener_id": "none", "args": []})
        assert socket.accepted


def test_a_page_of_another_site_may_not_read_what_the_socket_says(keyed: Served) -> None:
    headers = {"authorization": f"Bearer {keyed.tokens['viewer']}", "origin": "https://elsewhere.example"}
    answer = httpx.get(f"{keyed.url}/_nicegui_ws/socket.io/?EIO=4&transport=polling", headers=headers, timeout=60)
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_a_caller_has_only_some_pages_that_nobody_has_opened(keyed: Served) -> None:
    theirs = Built(keyed.url, "/", keyed.tokens["operator"])
    pages = [Built(keyed.url, "/search", keyed.tokens["viewer"]) for _ in range(MAX_UNOPENED_PAGES + 2)]
    with opened(pages[1]) as dropped, opened(pages[2]) as oldest, opened(pages[-1]) as newest, opened(theirs) as other:
        assert (dropped.accepted, oldest.accepted, newest.accepted, other.accepted) == (False, True, True, True)

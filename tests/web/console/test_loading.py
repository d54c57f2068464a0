"""Waiting well: at once, later, or not at all."""

import asyncio
import logging
from collections.abc import Iterator

import pytest
from nicegui import Client, ui
from nicegui.element import Element
from starlette.requests import Request

from gateleg.web.console import lists
from gateleg.web.console.lists import again, show_when_loaded
from gateleg.web.console.live import LiveIndicator
from gateleg.web.console.markup import tag

SCOPE = {"type": "http", "path": "/jobs", "query_string": b"status=done&cursor=x", "headers": [], "server": ("127.0.0.1", 8000)}


@pytest.fixture
def client() -> Iterator[Client]:
    """A page that is being built."""
    client = Client(ui.page("/"), request=Request(SCOPE))
    yield client
    client.delete()


def words(box: Element) -> list[str]:
    """All texts in a box."""
    return [text for element in box.descendants() if (text := getattr(element, "text", ""))]


def show(result: str) -> None:
    """Show a result."""
    tag("p", result)


async def test_what_comes_at_once_has_no_skeleton(client: Client) -> None:
    async def work() -> str:
        return "here"

    with client:
        box = await show_when_loaded(work(), show)
    assert words(box) == ["here"]


async def test_what_takes_longer_has_a_skeleton_first(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "SKELETON_DELAY_SECONDS", 0.0)
    gate = asyncio.Event()
    shown = asyncio.Event()

    async def work() -> str:
        await gate.wait()
        return "late"

    def show_late(result: str) -> None:
        show(result)
        shown.set()

    with client:
        box = await show_when_loaded(work(), show_late, saying="Looking")
    assert words(box) == ["Looking …"]
    gate.set()
    await shown.wait()
    assert words(box) == ["late"]


async def test_what_fails_says_so_in_its_place(client: Client) -> None:
    async def work() -> str:
        raise ValueError("no such thing")

    with client:
        box = await show_when_loaded(work(), show)
    assert any("no such thing" in text for text in words(box))


def test_a_browser_that_answers_late_leaves_no_trace_and_a_fault_does(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("nicegui")
    before = list(log.filters)
    try:
        lists.silence_late_responses()
        for error in (TimeoutError("JavaScript did not respond within 1.0 s"), TimeoutError("the store"), ValueError("JavaScript")):
            try:
                raise error
            except Exception as raised:
                log.exception(raised)
    finally:
        log.filters[:] = before
    assert [record.getMessage() for record in caplog.records] == ["the store", "JavaScript"]


class Nonsense(Exception):
    """A cursor that was not made here."""

    code = "cursor-rejected"


@pytest.mark.parametrize(("error", "place"), [(ValueError(), "/jobs?status=done&cursor=x"), (Nonsense(), "/jobs?status=done")])
def test_what_has_failed_is_tried_again_where_it_was_without_a_cursor_that_is_none(error: Exception, place: str) -> None:
    assert again(Request(SCOPE), error) == place


async def test_what_has_failed_is_not_called_live(client: Client) -> None:
    async def work() -> str:
        raise ValueError("no such thing")

    with client:
        pulse = LiveIndicator()
        await show_when_loaded(work(), show, pulse=pulse)
    assert any("Not live" in text for text in words(pulse.box))

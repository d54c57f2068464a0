"""What is typed and pressed on a page whose socket is not there yet, or is away: the host hears of all of it, in its order."""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.web.console.conftest import Served

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]
#: Pages shake hands while they connect; one that the browser has fetched before somebody asked for it does so afterwards.
KINDS: dict[str, dict[str, Any]] = {"asked-for": {}, "fetched-ahead": {"extra_http_headers": {"purpose": "prefetch"}}}


class Form:
    """The form of a job in a browser whose clock stands still, and whose sockets reach the host when they are let."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page = page
        self._served = served
        self._sockets: list[WebSocketRoute] = []
        served.sign_in(page.context)
        page.route_web_socket(re.compile("/_nicegui_ws/"), lambda socket: self._sockets.append(socket))
        page.clock.install(time=0)
        page.clock.pause_at(1)
        page.goto(served.url + "/jobs/submit?type=REEL")

    def fill_and_submit(self, title: str) -> None:
        """Type, choose and press 8 ms apart, and wait until, of what is looked at each 10 ms, the press is next and the text is last."""
        self.page.get_by_label("Title").fill(title)
        self.page.clock.run_for(8)
        self.page.get_by_label("Quality").select_option("final")
        self.page.clock.run_for(8)
        self.page.get_by_role("button", name="Submit").click()
        self.page.clock.run_for(9)

    def submitted(self) -> tuple[str, str]:
        """The title and the quality of the job that has come of it."""
        expect(self.page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
        with self._served.queue() as queue:
            config = queue.get(UUID(self.page.url.rpartition("/")[2])).job_config
        return config["title"], config["quality"]

    def connect(self) -> None:
        """Let the newest socket reach the host."""
        self._sockets[-1].connect_to_server()
        self.page.wait_for_function("window.socket.connected")
        self.page.clock.run_for(100)

    def lose_connection(self) -> None:
        """Close the socket, and go on to where the page has asked for another."""
        known = len(self._sockets)
        self._sockets[-1].close()
        self.page.wait_for_function("!window.socket.connected")
        for _ in range(15):
            self.page.clock.run_for(1000)
            if len(self._sockets) > known:
                return
        raise AssertionError("the page has asked for no other socket")


@pytest.fixture(params=KINDS)
def form(request: pytest.FixtureRequest, served: Served, open_page: OpenPage) -> Form:
    """A form that is not connected."""
    return Form(open_page("about:blank", **KINDS[request.param]), served)


def test_the_host_hears_in_order_what_was_done_before_it_was_there(form: Form) -> None:
    form.fill_and_submit("Early")
    form.connect()
    assert form.submitted() == ("Early", "final")


def test_the_host_hears_in_order_what_was_done_while_it_was_away(form: Form) -> None:
    form.connect()
    form.lose_connection()
    form.fill_and_submit("Away")
    form.connect()
    assert form.submitted() == ("Away", "final")


def test_whoever_acts_on_a_page_that_is_long_without_a_host_is_told(form: Form) -> None:
    told = form.page.get_by_text("Trying to reconnect")
    form.page.get_by_label("Title").fill("Patient")
    form.page.clock.run_for(900)
    expect(told).to_be_hidden()
    form.page.clock.run_for(100)
    expect(told).to_be_visible()
    form.connect()
    expect(told).to_be_hidden()

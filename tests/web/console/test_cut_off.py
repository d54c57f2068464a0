"""Pages that their host does not listen to any more say why, and what to do."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.web.console.conftest import Served, serving
from tests.web.console.questions import asked_of

pytestmark = pytest.mark.browser
FORM = "/jobs/submit?type=REEL"


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host with keys."""
    with serving(tmp_path_factory.mktemp("cut-off"), "--keys", "--idle", "--application", "tests.web.console.sample:reels") as served:
        yield served


@pytest.fixture
def page(browser: Browser, keyed: Served) -> Iterator[Page]:
    """The form of a job, in the browser of an operator who has signed in."""
    with browser.new_context(reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(keyed.url + FORM)
        page.get_by_label("API key").fill(keyed.tokens["operator"])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_label("Title")).to_be_visible()
        yield page


def sign_out(page: Page, served: Served) -> None:
    """Sign out in another tab of the same browser."""
    other = page.context.new_page()
    other.goto(served.url + "/signout")
    other.get_by_role("button", name="Sign out", exact=True).click()
    expect(other.get_by_label("API key")).to_be_visible()


def test_a_page_whose_session_is_over_says_so_and_leads_to_the_sign_in_page(page: Page, keyed: Served) -> None:
    sign_out(page, keyed)
    page.get_by_label("Title").press("End")
    page.get_by_label("Quality").select_option("final")
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    assert page.get_by_role("link", name="Sign in again").get_attribute("href") == "/signin?next=%2Fjobs%2Fsubmit%3Ftype%3DREEL"


def test_what_was_typed_is_there_when_the_session_is_over(page: Page, keyed: Served) -> None:
    page.get_by_label("Title").press_sequentially("Long thought about")
    sign_out(page, keyed)
    page.get_by_label("Title").press_sequentially(", and more")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Sign in again").click()
    expect(opened.value.get_by_label("API key")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Long thought about, and more")


def test_a_page_that_its_host_has_forgotten_says_so_to_whoever_has_typed_into_it(page: Page) -> None:
    sockets: list[WebSocketRoute] = []

    def taken(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        if len(sockets) == 1:
            socket.connect_to_server()
            return
        socket.on_message(lambda text: socket.send('44{"message":"Implicit handshake failed"}') if text == "40" else None)
        socket.send("0" + json.dumps({"sid": "x", "upgrades": [], "pingInterval": 60_000, "pingTimeout": 60_000, "maxPayload": 1_000_000}))

    page.route_web_socket(re.compile("/_nicegui_ws/"), taken)
    page.reload()
    page.wait_for_function("window.socket?.connected")
    asked = asked_of(page)
    page.get_by_label("Title").press_sequentially("Typed")
    sockets[0].close()
    expect(page.get_by_text("The host does not know this page any more.")).to_be_visible()
    assert asked == ["beforeunload"]
    expect(page.get_by_label("Title")).to_have_value("Typed")
    page.get_by_role("link", name="load the page again").click()
    expect(page.get_by_label("Title")).to_have_value("")
    assert asked == ["beforeunload"]


def test_whoever_makes_the_first_key_sees_it_and_signs_in_with_it(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, "--idle") as served, browser.new_context(reduced_motion="reduce") as context:
        served.sign_in(context)
        page = context.new_page()
        page.goto(f"{served.url}/settings?tab=keys")
        page.get_by_role("button", name="Create a key").click()
        expect(page.get_by_label("Role")).to_have_value("admin")
        page.get_by_label("Name").fill("Ann")
        page.get_by_role("button", name="Create", exact=True).click()
        token = page.get_by_role("dialog", name="The key of Ann").locator("pre").inner_text()
        page.get_by_role("button", name="I have copied it").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        page.get_by_role("link", name="Sign in again").click()
        page.get_by_label("API key").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("row", name="Ann")).to_contain_text("Active")

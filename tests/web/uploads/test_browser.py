"""The upload field in a real browser: progress, a broken connection, a page that was left, and what is refused."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FilePayload, Page, Route, expect

from tests.conftest import chromium
from tests.web.console.conftest import Served, serving
from tests.web.console.faults import serious_faults

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]
SONG: FilePayload = {"name": "Köln.wav", "mimeType": "audio/wav", "buffer": b"RIFF\x10\0\0\0WAVEfmt " + b"\0" * 3_000_000}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop"), "--idle", "--application", "tests.web.uploads.browser_shop:shop") as served:
        yield served


@pytest.fixture
def page(browser: Browser, shop: Served) -> Iterator[Page]:
    """Requests that fail are errors in the console of the browser, and meant here."""
    context = browser.new_context(reduced_motion="reduce")
    shop.sign_in(context)
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.goto(f"{shop.url}/shop")
    yield page
    context.close()


def choose(page: Page, file: FilePayload) -> None:
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text(file["name"])).to_be_visible()
    page.get_by_role("button", name="Upload").click()


def test_a_song_is_sent_in_parts_over_a_connection_that_breaks(page: Page) -> None:
    sent: list[str] = []

    def breaking(route: Route) -> None:
        if route.request.method != "PATCH":
            route.continue_()
            return
        sent.append(route.request.headers["upload-offset"])
        # The second part never arrives, and the page asks how far the host has got.
        if len(sent) == 2:
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route(re.compile("/api/shop/uploads/song/"), breaking)
    choose(page, SONG)
    expect(page.locator(".arrived")).to_contain_text(f"Köln.wav audio/wav {len(SONG['buffer'])}")
    expect(page.get_by_role("status").filter(has_text="was uploaded")).to_be_visible()
    assert sent == ["0", "1000000", "1000000", "2000000", "3000000"]
    assert serious_faults(page) == []


def test_content_of_another_type_is_refused_in_words(page: Page) -> None:
    choose(page, {"name": "song.wav", "mimeType": "audio/wav", "buffer": b"%PDF-1.7 not a song"})
    expect(page.get_by_role("alert")).to_contain_text("The content of song.wav is application/pdf, which is not accepted here.")

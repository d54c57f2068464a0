"""The pages of Delphi in a real browser."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from gateleg.apps.delphi.application import application
from gateleg.web.host import Host
from gateleg.web.settings import load_settings
from tests.apps.delphi.served import GROUP, analysed
from tests.apps.delphi.test_browser import browser
from tests.web.console.conftest import Served, chromium, open_page, serving
from tests.web.console.faults import serious_faults

__all__ = ["browser", "open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]
Open = Callable[..., Page]
HERE = ("--idle", "--application", "gateleg.apps.delphi.application:application")


def _prepare(folder: Path) -> None:
    """Keep an analysed conversation in a folder. Playwright has a loop in this thread already, so it is done in another."""
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, _keep(folder)).result()


async def _keep(folder: Path) -> None:
    settings = load_settings(flags={"store": f"embedded:{folder}", "objects": f"dir:{folder}/objects", "data": folder})
    async with Host.open(settings, [application]) as host:
        await analysed(host, GROUP, uuid4())


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("town")
    _prepare(folder)
    with serving(folder, *HERE) as served:
        yield served


def test_a_conversation_leads_to_its_groups_its_map_and_its_report(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi")
    page.get_by_role("link", name="What should our town do next?").click()
    expect(page.get_by_role("heading", name="What should our town do next?")).to_be_visible()
    expect(page.get_by_role("region", name="Group A")).to_contain_text("participants")
    expect(page.frame_locator("iframe[title='Map of the comments']").get_by_label("Search")).to_be_visible()
    page.locator("iframe[title='Report']").scroll_into_view_if_needed()
    expect(page.frame_locator("iframe[title='Report']").get_by_role("heading", name="What should our town do next?")).to_be_visible()
    assert serious_faults(page) == []


def test_a_pipeline_that_is_submitted_is_shown_until_it_ends(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town")
    page.get_by_role("button", name="Map it again").click()
    waiting = page.get_by_role("link", name="The whole map")
    expect(waiting).to_be_visible()
    address = waiting.get_attribute("href")
    assert address is not None
    # What happens to it elsewhere is seen here.
    told = page.request.post(f"{town.url}/api{address}/cancel", data={}, headers={"origin": town.url})
    assert told.ok, told.text()
    expect(waiting).to_have_count(0)
    expect(page.get_by_role("button", name="Map it again")).to_be_visible()


def test_a_host_without_conversations_says_how_to_upload_one(tmp_path: Path, open_page: Open) -> None:
    with serving(tmp_path, *HERE) as served:
        page = open_page(f"{served.url}/delphi")
        expect(page.get_by_role("heading", name="No conversations yet")).to_be_visible()
        page.goto(f"{served.url}/delphi/nowhere")
        expect(page.get_by_role("heading", name="There is no such conversation")).to_be_visible()
        page.context.close()  # a page that outlives its host complains


def test_a_member_of_another_group_cannot_tell_a_conversation_from_none(tmp_path: Path, open_page: Open) -> None:
    _prepare(tmp_path)
    with serving(tmp_path, "--keys", *HERE) as served:
        page = open_page(f"{served.url}/delphi/town", extra_http_headers={"authorization": f"Bearer {served.tokens['member']}"})
        expect(page.get_by_role("heading", name="There is no such conversation")).to_be_visible()
        page.goto(f"{served.url}/delphi")
        expect(page.get_by_role("heading", name="No conversations yet")).to_be_visible()
        page.context.close()  # a page that outlives its host complains

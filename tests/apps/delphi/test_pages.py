"""The pages of Delphi in a real browser."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from gateleg.apps.delphi.application import application
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from tests.apps.delphi.real import FOLDER, needs_real_conversations, real_conversation
from tests.apps.delphi.served import GROUP, analysed
from tests.apps.delphi.test_api import COMMENTS, VOTES
from tests.conftest import chromium
from tests.web.console.conftest import Served, open_page, serving
from tests.web.console.faults import serious_faults

__all__ = ["open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]
Open = Callable[..., Page]
PAGES = ("", "/groups", "/topics", "/report", "/compare", "/comments/1", "/upload")
#: Of the widths and themes, those that differ most.
SCREENS = ((1280, True), (390, False))
HERE = ("--idle", "--application", "gateleg.apps.delphi.application:application")


def _prepare(folder: Path, runs: int = 1) -> None:
    """Keep an analysed conversation in a folder. Playwright has a loop in this thread already, so it is done in another."""
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, _keep(folder, runs)).result()


async def _keep(folder: Path, runs: int) -> None:
    settings = load_settings(flags={"store": f"embedded:{folder}", "objects": f"dir:{folder}/objects", "data": folder})
    async with Host.open(settings, [application]) as host:
        for _ in range(runs):
            await analysed(host, GROUP, uuid4())


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("town")
    _prepare(folder, runs=2)
    with serving(folder, *HERE) as served:
        yield served


def test_a_conversation_leads_to_its_maps(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi")
    page.get_by_role("link", name="What should our town do next?").click()
    expect(page.get_by_role("heading", name="What should our town do next?")).to_be_visible()
    page.locator(".half.people .legend").get_by_role("button", name="Group A").click()
    expect(page.get_by_role("heading", name="What sets it apart")).to_be_visible()
    assert "group=A" in page.url
    page.reload()
    expect(page.get_by_role("heading", name="What sets it apart")).to_be_visible()
    assert serious_faults(page) == []


@pytest.mark.sweep
@pytest.mark.parametrize(("width", "dark"), SCREENS)
@pytest.mark.parametrize("part", PAGES)
def test_every_part_is_for_everybody_on_every_screen(town: Served, open_page: Open, part: str, width: int, dark: bool) -> None:
    page = open_page(f"{town.url}/delphi/town{part}", width=width, dark=dark)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".explorer canvas, .statement, iframe, .delphi-upload").first).to_be_visible()
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_groups_are_told_in_plain_language_and_lead_to_comments_and_to_the_map(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town/groups")
    card = page.get_by_role("region", name="Group B")
    expect(page.get_by_text("Groups were found in improved mode, with many starts of k-means.")).to_be_visible()
    expect(card).to_contain_text("of all grouped")
    expect(card).to_contain_text("They agree with:")
    expect(page.get_by_role("heading", name="What all groups share")).to_be_visible()
    expect(page.get_by_role("heading", name="What divides them")).to_be_visible()
    card.get_by_role("link", name="with all its votes").first.click()
    expect(page.get_by_text("It sets Group B apart")).to_be_visible()
    page.get_by_role("link", name="On the map").click()
    expect(page.locator(".half.people .legend")).to_contain_text("did not see it")


def test_a_topic_is_renamed_and_keeps_its_history(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town/topics")
    before = page.locator(".delphi-topic > summary .strong").first.inner_text()
    page.get_by_role("button", name=f"Rename {before}").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Getting around")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.locator(".delphi-topic > summary .strong").first).to_have_text("Getting around")
    expect(page.get_by_text(f"Called “{before}” until")).to_be_visible()
    page.locator(".delphi-topic").first.get_by_role("link", name="On the map").first.click()
    expect(page.locator(".panel h3").first).to_have_text("Getting around")


def test_the_report_is_read_in_the_page_and_its_files_are_had_by_signed_links(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town/report")
    expect(page.frame_locator("iframe[title='Report']").get_by_role("heading", name="What should our town do next?")).to_be_visible()
    files = page.get_by_role("region", name="Files")
    for name in ("Report", "Maps", "Votes by participant", "Common ground"):
        where = files.get_by_role("link", name=name, exact=True).first.get_attribute("href")
        assert where is not None
        assert "signature=" in where
        assert page.request.get(where if where.startswith("http") else f"{town.url}{where}").ok


def test_two_runs_are_compared_with_their_maps_linked(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town/compare")
    expect(page.get_by_text("participants who are grouped in both runs changed their group")).to_be_visible()
    expect(page.get_by_role("region", name="Settings")).to_contain_text("earlier upload")
    expect(page.get_by_role("region", name="Groups")).to_contain_text(
        "Group A matches Group A on the right: 100% of all their members are in both."
    )
    expect(page.get_by_role("region", name="Topics").last).to_contain_text("Kept")
    page.locator(".two-maps canvas").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("on the left, Group")).to_be_visible()
    marks = [page.locator(".two-maps canvas").nth(side).get_attribute("data-marked") for side in (0, 1)]
    assert marks[0] == marks[1] != "-1"


def test_two_runs_are_chosen_by_their_address(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town/compare")
    before = page.locator("select[name=left]").input_value()
    page.locator("select[name=right]").select_option(before)
    page.wait_for_url(f"**right={before}*")
    expect(page.locator("select[name=right]")).to_have_value(before)


def test_a_comment_that_is_not_there_leads_back(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town/comments/99999")
    expect(page.get_by_role("heading", name="Comment not found")).to_be_visible()
    page.get_by_role("link", name="Back to the map").click()
    expect(page.locator(".explorer canvas").first).to_be_visible()


def test_a_pipeline_that_is_submitted_is_shown_until_it_ends(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town")
    page.get_by_role("button", name="Map it again").click()
    waiting = page.get_by_role("link", name="The whole map")
    expect(waiting).to_be_visible()
    address = waiting.get_attribute("href")
    assert address is not None
    # What happens to it elsewhere is seen here.
    told = page.request.post(f"{town.url}/api{address}/cancel", data={}, headers={"authorization": f"Bearer {town.token}"})
    assert told.ok, told.text()
    expect(waiting).to_have_count(0)
    expect(page.get_by_role("button", name="Map it again")).to_be_visible()


def _fill(page: Page, topic: str, *files: Path | FilePayload) -> None:
    page.get_by_label("Topic", exact=True).fill(topic)
    for file in files:
        page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()


@needs_real_conversations
def test_a_real_conversation_is_uploaded_and_mapped_from_a_page(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi")
    page.get_by_role("link", name="New conversation").click()
    folder = FOLDER / "15-per-hour-seattle"
    _fill(page, "Fifteen dollars an hour?", folder / "votes.csv", folder / "comments.csv", folder / "summary.csv")
    expect(page).to_have_url(f"{town.url}/delphi/fifteen-dollars-an-hour")
    real = real_conversation("15-per-hour-seattle")
    expect(
        page.get_by_text(f"{len(set(real.votes.participants.tolist())):,} participants, {len(real.comments):,} comments")
    ).to_be_visible()
    expect(page.get_by_role("link", name="The whole map")).to_be_visible()


def test_rows_that_cannot_be_read_are_shown_by_line_and_nothing_is_kept(town: Served, browser: Browser) -> None:
    votes = VOTES + "".join(f"1767571300,1,{person},9\n" for person in range(25))
    context = browser.new_context()
    town.sign_in(context)
    page = context.new_page()
    page.goto(f"{town.url}/delphi?upload=new")
    files = (
        FilePayload(name="v.csv", mimeType="text/csv", buffer=votes.encode()),
        FilePayload(name="c.csv", mimeType="text/csv", buffer=COMMENTS.encode()),
    )
    _fill(page, "Broken", *files)
    trouble = page.get_by_role("alert")
    expect(trouble).to_contain_text("25 rows cannot be read.")
    expect(trouble.locator("tbody tr")).to_have_count(20)
    expect(trouble.locator("tbody tr").first).to_have_text("v.csv98vote is 9, not one of -1, 0, 1")
    expect(trouble).to_contain_text("and 5 more")
    assert serious_faults(page) == []
    assert page.request.get(f"{town.url}/api/delphi/conversations/broken").status == 404
    context.close()


def test_an_upload_to_a_conversation_keeps_its_earlier_runs(town: Served, open_page: Open) -> None:
    page = open_page(f"{town.url}/delphi/town")
    page.get_by_role("link", name="Upload again").click()
    for name, text in (("votes", VOTES), ("comments", COMMENTS)):
        page.locator("input[type=file]").set_input_files(FilePayload(name=f"{name}.csv", mimeType="text/csv", buffer=text.encode()))
    page.get_by_label("Map it after the upload").uncheck()
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_text("12 participants, 8 comments, 96 votes")).to_be_visible()
    expect(page.locator(".half.people .legend")).to_contain_text("Group A")


def test_a_host_without_conversations_says_how_to_upload_one(tmp_path: Path, open_page: Open) -> None:
    with serving(tmp_path, *HERE) as served:
        page = open_page(f"{served.url}/delphi")
        expect(page.get_by_role("heading", name="No conversations yet")).to_be_visible()
        page.goto(f"{served.url}/delphi/nowhere")
        expect(page.get_by_role("heading", name="There is no such conversation", level=1)).to_be_visible()
        page.context.close()  # a page that outlives its host complains


def test_somebody_who_has_signed_in_uploads_from_a_page(tmp_path: Path, open_page: Open) -> None:
    with serving(tmp_path, "--keys", *HERE) as served:
        page = open_page(f"{served.url}/delphi?upload=new")
        page.locator("input[name=key]").fill(served.tokens["operator"])
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="New conversation")).to_be_visible()
        files = [
            FilePayload(name=f"{name}.csv", mimeType="text/csv", buffer=text.encode()) for name, text in (("v", VOTES), ("c", COMMENTS))
        ]
        _fill(page, "Places", *files)
        expect(page).to_have_url(f"{served.url}/delphi/places")
        expect(page.get_by_text("12 participants, 8 comments, 96 votes")).to_be_visible()
        page.context.close()  # a page that outlives its host complains


def test_a_member_of_another_group_cannot_tell_a_conversation_from_none(tmp_path: Path, open_page: Open) -> None:
    _prepare(tmp_path)
    with serving(tmp_path, "--keys", *HERE) as served:
        page = open_page(f"{served.url}/delphi/town")
        page.get_by_label("API key").fill(served.tokens["member"])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="There is no such conversation", level=1)).to_be_visible()
        for part in PAGES:
            page.goto(f"{served.url}/delphi/town{part}")
            expect(page.get_by_role("heading", name="There is no such conversation", level=1)).to_be_visible()
            expect(page.get_by_text("our town")).to_have_count(0)
        page.goto(f"{served.url}/delphi")
        expect(page.get_by_role("heading", name="No conversations yet")).to_be_visible()
        page.context.close()  # a page that outlives its host complains

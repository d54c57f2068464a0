"""The report and the map in a real Chromium, opened as files: no server, no network."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from gateleg.apps.delphi.reports.explorer import write_explorer
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.report import write_report
from tests.apps.delphi.reports.test_report import HOSTILE, hostile_findings
from tests.apps.delphi.told import findings
from tests.web.console.conftest import chromium
from tests.web.console.faults import serious_faults

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]
_ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=_ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def said() -> list[str]:
    """What pages have complained about."""
    return []


@pytest.fixture
def page(browser: Browser, said: list[str]) -> Iterator[Page]:
    context = browser.new_context(offline=True)
    opened = context.new_page()
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: said.append(dialog.message))
    yield opened
    context.close()


def _show(page: Page, folder: Path, text: str) -> Page:
    (folder / "page.html").write_text(text, encoding="utf-8")
    page.goto((folder / "page.html").as_uri())
    return page


@pytest.fixture
def explorer(page: Page, tmp_path: Path) -> Page:
    return _show(page, tmp_path, write_explorer(findings()))


def test_a_search_leaves_what_it_finds(explorer: Page, said: list[str]) -> None:
    word = next(iter(findings().statements.values())).body.split()[-1].strip(".")
    explorer.get_by_label("Search").fill(word)
    found = [one for one in findings().statements.values() if word.lower() in one.body.lower()]
    expect(explorer.get_by_role("heading", name=f"{len(found)} of {len(findings().statements)} comments")).to_be_visible()
    assert explorer.locator(".point.dim").count() == len(findings().statements) - len(found)
    assert said == []


def test_a_comment_that_is_chosen_shows_its_votes(explorer: Page) -> None:
    statement = next(iter(findings().statements.values()))
    explorer.get_by_role("button", name=statement.body).first.click()
    expect(explorer.get_by_role("heading", name=f"Comment {statement.comment_id}", exact=True)).to_be_visible()
    share = round(100 * statement.everybody.share("agree"))
    expect(explorer.locator("aside")).to_contain_text(f"{share} % agree")
    explorer.get_by_role("button", name="Back to the list").click()
    expect(explorer.locator(".point.on")).to_have_count(0)


def test_a_topic_that_is_chosen_dims_the_others(explorer: Page) -> None:
    topic = findings().topics[0][1]
    size = len(findings().of_topic(topic))
    explorer.get_by_role("button", name=f"{topic.name} ({size})").click()
    expect(explorer.locator(".point:not(.dim)")).to_have_count(size)


def test_another_layer_and_the_opinion_of_a_group_colour_the_map(explorer: Page) -> None:
    before = explorer.locator(".point").first.get_attribute("fill")
    explorer.get_by_label("Topics").select_option("1")
    expect(explorer.locator(".name")).to_have_count(len(findings().topics[1]))
    explorer.locator("#paint").select_option("1")
    expect(explorer.locator("footer")).to_contain_text("most disagree")
    assert explorer.locator(".point").first.get_attribute("fill") != before


def test_the_map_is_walked_with_the_keyboard(explorer: Page) -> None:
    explorer.locator("#plot svg").focus()
    explorer.keyboard.press("ArrowRight")
    expect(explorer.locator(".point.on")).to_have_count(1)
    expect(explorer.locator("aside h2")).to_contain_text("Comment ")
    explorer.keyboard.press("Escape")
    expect(explorer.locator(".point.on")).to_have_count(0)


def test_all_comments_stand_in_a_table(explorer: Page) -> None:
    explorer.get_by_role("button", name="Table").click()
    expect(explorer.get_by_role("dialog").locator("tbody tr")).to_have_count(len(findings().statements))


def test_the_report_lets_its_data_be_saved(page: Page, tmp_path: Path, said: list[str]) -> None:
    _show(page, tmp_path, write_report(findings(), write_sections(findings()), {"a.csv": "x\n1\n"}))
    with page.expect_download() as download:
        page.get_by_role("link", name="a.csv").click()
    assert Path(download.value.path()).read_text() == "x\n1\n"
    assert said == []


def test_what_participants_wrote_does_nothing(page: Page, tmp_path: Path, said: list[str]) -> None:
    found = hostile_findings()
    _show(page, tmp_path, write_explorer(found))
    page.get_by_role("button", name=HOSTILE).first.click()
    _show(page, tmp_path, write_report(found, write_sections(found)))
    assert said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(browser: Browser, tmp_path: Path, scheme: str) -> None:
    context = browser.new_context(bypass_csp=True, color_scheme="dark" if scheme == "dark" else "light")
    page = context.new_page()
    for text in (write_report(findings(), write_sections(findings()), {"a.csv": "x"}), write_explorer(findings())):
        assert serious_faults(_show(page, tmp_path, text)) == []
    context.close()

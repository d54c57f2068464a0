"""The report and the map in a real Chromium, opened as files: no server, no network."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from gateleg.ai import Models
from gateleg.apps.delphi.reports.explorer import write_explorer
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.replay import write_replay
from gateleg.apps.delphi.reports.report import write_report
from gateleg.apps.delphi.reports.translation import translate_pages
from tests.apps.delphi.reports.test_moments import followed
from tests.apps.delphi.reports.test_report import HOSTILE, hostile_findings
from tests.apps.delphi.reports.test_translation import foreign, translating
from tests.apps.delphi.told import empty, findings, opinions
from tests.conftest import chromium
from tests.web.console.faults import serious_faults

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]


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
    page.set_viewport_size({"width": 1400, "height": 900})
    return _show(page, tmp_path, write_explorer(findings(), opinions().matrix))


def _lit(page: Page, half: str) -> int:
    """How many points stand out on a map."""
    return int(page.locator(f".half.{half} canvas").get_attribute("data-lit") or -1)


def _drag_around(page: Page, half: str, *, key: str | None = None) -> None:
    """Draw a line around the left half of a map."""
    box = page.locator(f".half.{half} canvas").bounding_box()
    assert box is not None
    left, top, right, bottom = box["x"] + 2, box["y"] + 2, box["x"] + box["width"] / 2, box["y"] + box["height"] - 2
    if key:
        page.keyboard.down(key)
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    if key:
        page.keyboard.up(key)


def test_a_search_leaves_what_it_finds(explorer: Page, said: list[str]) -> None:
    word = next(iter(findings().statements.values())).body.split()[-1].strip(".")
    explorer.get_by_label("Search").fill(word)
    found = [one for one in findings().statements.values() if word.lower() in one.body.lower()]
    expect(explorer.get_by_role("heading", name=f"{len(found)} of {len(findings().statements)} comments")).to_be_visible()
    assert _lit(explorer, "comments") == len(found)
    assert said == []


def test_a_comment_that_is_chosen_shows_who_voted_how(explorer: Page) -> None:
    statement = next(iter(findings().statements.values()))
    explorer.get_by_role("button", name=statement.body).first.click()
    expect(explorer.get_by_role("heading", name=f"Comment {statement.comment_id}", exact=True)).to_be_visible()
    count = statement.everybody
    expect(explorer.get_by_role("row", name="Everyone")).to_contain_text(f"{round(100 * count.share('agree'))}%")
    expect(explorer.locator(".half.people .legend")).to_contain_text(f"agree ({count.agrees})")
    unseen = findings().totals.participants - count.votes
    expect(explorer.locator(".half.people .legend")).to_contain_text(f"did not see it ({unseen})")
    assert _lit(explorer, "people") == count.votes
    explorer.get_by_role("button", name="Show everything").click()
    assert _lit(explorer, "people") == findings().totals.participants


def test_a_group_that_is_chosen_says_what_sets_it_apart(explorer: Page) -> None:
    group = findings().groups[1]
    explorer.locator(".half.people .legend").get_by_role("button", name=group.name).click()
    expect(explorer.get_by_role("heading", name=f"{group.name}: {group.size} people")).to_be_visible()
    for one in group.representatives:
        expect(explorer.locator(".panel")).to_contain_text(findings().statements[one.comment_id].body)
    assert _lit(explorer, "people") == group.size
    expect(explorer.locator(".half.comments .legend")).to_contain_text("most disagree")


def test_a_topic_that_is_chosen_shows_its_comments_and_who_takes_which_side(explorer: Page) -> None:
    topic = findings().topics[0][1]
    size = len(findings().of_topic(topic))
    explorer.get_by_role("button", name=f"{topic.name} ({size})").click()
    expect(explorer.get_by_role("heading", name=f"{size} comments", exact=True)).to_be_visible()
    assert _lit(explorer, "comments") == size
    expect(explorer.locator(".half.people .legend")).to_contain_text("mostly agree")


def test_people_with_a_line_around_them_say_what_they_agree_on(explorer: Page) -> None:
    explorer.get_by_role("button", name="Choose people").click()
    _drag_around(explorer, "people")
    expect(explorer.get_by_role("heading", name="What they agree on")).to_be_visible()
    chosen = _lit(explorer, "people")
    assert 0 < chosen < findings().totals.participants
    expect(explorer.locator(".panel h3").first).to_have_text(f"{chosen} people")
    expect(explorer.get_by_role("button", name="Choose people")).to_have_attribute("aria-pressed", "false")
    expect(explorer.get_by_label("Colour by")).to_have_value("people")


def test_shift_draws_the_line_as_well(explorer: Page) -> None:
    _drag_around(explorer, "people", key="Shift")
    expect(explorer.get_by_role("heading", name="What they agree on")).to_be_visible()


def test_another_layer_and_the_opinion_of_a_group_colour_the_map(explorer: Page) -> None:
    explorer.get_by_label("Topics").select_option("1")
    expect(explorer.locator(".half.comments .legend button")).to_have_count(len(findings().topics[1]))
    explorer.get_by_label("Colour by").select_option("1")
    expect(explorer.locator(".half.comments .legend")).to_contain_text("most disagree")


def test_the_maps_are_walked_with_the_keyboard(explorer: Page) -> None:
    explorer.locator(".half.comments canvas").focus()
    explorer.keyboard.press("ArrowRight")
    expect(explorer.get_by_role("status")).to_contain_text("Comment ")
    explorer.keyboard.press("Enter")
    expect(explorer.locator(".panel h3").first).to_contain_text("Comment ")
    explorer.keyboard.press("Escape")
    expect(explorer.locator(".panel h3").first).to_have_text("Groups")
    explorer.locator(".half.people canvas").focus()
    explorer.keyboard.press("ArrowLeft")
    expect(explorer.get_by_role("status")).to_contain_text("Group ")
    explorer.keyboard.press("Enter")
    expect(explorer.get_by_role("heading", name="What they agree on")).to_be_visible()


def test_a_narrow_page_shows_one_map_at_a_time(explorer: Page) -> None:
    explorer.set_viewport_size({"width": 390, "height": 800})
    expect(explorer.locator(".half.comments")).to_be_hidden()
    explorer.get_by_role("group", name="Which map").get_by_role("button", name="Comments").click()
    expect(explorer.locator(".half.people")).to_be_hidden()
    expect(explorer.locator(".half.comments")).to_be_visible()
    assert explorer.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_all_comments_stand_in_a_table(explorer: Page) -> None:
    explorer.get_by_role("button", name="Table").click()
    expect(explorer.get_by_role("dialog").locator("tbody tr")).to_have_count(len(findings().statements))


def test_maps_of_nothing_can_be_opened(page: Page, tmp_path: Path, said: list[str]) -> None:
    _show(page, tmp_path, write_explorer(empty()))
    expect(page.get_by_role("heading", name="0 of 0 comments")).to_be_visible()
    assert said == []


def test_the_report_lets_its_data_be_saved(page: Page, tmp_path: Path, said: list[str]) -> None:
    _show(page, tmp_path, write_report(findings(), write_sections(findings()), {"a.csv": "x\n1\n"}))
    with page.expect_download() as download:
        page.get_by_role("link", name="a.csv").click()
    assert Path(download.value.path()).read_text() == "x\n1\n"
    assert said == []


def test_folded_parts_of_the_report_are_printed(page: Page, tmp_path: Path) -> None:
    _show(page, tmp_path, write_report(findings(), write_sections(findings())))
    folded = page.locator("details:not([open]) .statement").first
    expect(folded).to_be_hidden()
    page.emulate_media(media="print")
    expect(folded).to_be_visible()


def test_what_participants_wrote_does_nothing(page: Page, tmp_path: Path, said: list[str]) -> None:
    found = hostile_findings()
    _show(page, tmp_path, write_explorer(found, opinions().matrix))
    page.get_by_role("button", name=HOSTILE).first.click()
    _show(page, tmp_path, write_report(found, write_sections(found)))
    assert said == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.sweep)])
def test_nobody_is_shut_out(browser: Browser, tmp_path: Path, scheme: str) -> None:
    context = browser.new_context(bypass_csp=True, color_scheme="dark" if scheme == "dark" else "light")
    page = context.new_page()
    for text in (write_report(findings(), write_sections(findings()), {"a.csv": "x"}), write_explorer(findings(), opinions().matrix)):
        assert serious_faults(_show(page, tmp_path, text)) == []
    context.close()


def _moment(page: Page) -> int:
    return int(page.locator("#replay").get_attribute("data-moment") or -1)


def test_the_replay_is_played_paused_and_scrubbed_with_the_keyboard(page: Page, tmp_path: Path, said: list[str]) -> None:
    _show(page, tmp_path, write_replay(followed()))
    box, slider = page.locator("#replay"), page.get_by_role("slider", name="Moment")
    expect(box).to_have_attribute("data-moment", "23")
    slider.focus()
    page.keyboard.press("Home")
    expect(box).to_have_attribute("data-moment", "0")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("votes"))
    expect(page.locator("#replay canvas")).to_have_attribute("data-drawn", str(followed().moments[0].participants))
    page.keyboard.press("ArrowRight")
    expect(box).to_have_attribute("data-moment", "1")
    page.keyboard.press(" ")
    expect(box).to_have_attribute("data-moment", "3", timeout=20_000)
    page.get_by_role("button", name="Pause").click()
    stopped = _moment(page)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert stopped >= 3
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    expect(page.locator("#replay canvas")).to_have_attribute("data-drawn", str(len(followed().people)))
    assert followed().moments[0].participants < len(followed().people)
    assert said == []
    assert serious_faults(page) == []


def test_the_replay_fits_a_phone_in_the_dark_and_plays_in_steps_where_less_motion_is_wanted(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(offline=True, viewport={"width": 390, "height": 844}, color_scheme="dark", reduced_motion="reduce")
    page = _show(context.new_page(), tmp_path, write_replay(followed()))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#replay")).to_have_attribute("data-moment", "1", timeout=20_000)
    assert serious_faults(page) == []
    context.close()


def _english(page: Page, own: set[str]) -> set[str]:
    """Words of a page, and of its labels, that `foreign` has not touched and that nobody wrote. What is marked as English is English."""
    said = page.evaluate(
        "() => [...document.querySelectorAll('body *')].filter((one) => !['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(one.tagName) "
        "&& !one.closest('[lang=en][translate=no]')).flatMap("
        "(one) => [...[...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent), "
        "...['aria-label', 'title', 'aria-valuetext'].map((name) => one.getAttribute(name) ?? '')])"
    )
    return {word for text in said for word in re.findall(r"[^\W\d_]{2,}", text) if not word.startswith("x") and word.lower() not in own}


def test_what_the_scripts_of_a_translated_page_say_is_in_its_language_too(page: Page, tmp_path: Path, said: list[str]) -> None:
    found = followed()
    pages = {"map.html": write_explorer(findings(), opinions().matrix), "replay.html": write_replay(found)}
    asked: list[str] = []
    with translating(foreign, asked) as address, Models() as models:
        turned = translate_pages(models.chat(address), pages, "de")
    written = [one.body for one in findings().statements.values()]
    assert not [text for text in written if text in "\n".join(asked)]
    written += [findings().title, found.title]
    written += [text for layer in findings().topics for topic in layer for text in (topic.name, *(one.term for one in topic.keywords))]
    # And how German writes a time, and the address of the model.
    own = {word.lower() for text in [*written, "UTC, um Jan.", address] for word in re.findall(r"[^\W\d_]{2,}", text)}
    assert not own & {"agree", "search", "topics", "choose", "everyone", "votes"}

    opened = _show(page, tmp_path, turned["map.html"])
    expect(opened.get_by_text("the wording was not: the English page counts")).to_be_visible()
    assert _english(opened, own) == set()
    for name in ("xGroup A", "xShow xeverything"):
        opened.locator(".panel").get_by_role("button", name=name).first.click()
        assert _english(opened, own) == set()
    opened.locator(".panel .list button").last.click()
    assert "xagree" in (opened.locator(".panel").text_content() or "")
    assert _english(opened, own) == set()
    expect(opened.get_by_text("xTranslated")).to_be_attached()

    opened = _show(page, tmp_path, turned["replay.html"])
    assert re.search(r"xpeople xhad xvoted xon", opened.locator(".told").text_content() or "")
    assert opened.locator(".steer button").text_content() == "xPlay"
    assert _english(opened, own) == set()
    assert said == []

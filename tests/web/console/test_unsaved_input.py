"""What was typed is not lost by accident."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.console.conftest import Served
from tests.web.console.questions import asked_of

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


def typed(page: Page, label: str, text: str) -> None:
    """Typed by hand: a browser asks only those who have touched a page."""
    page.get_by_label(label).click()
    page.keyboard.type(text)


@pytest.mark.parametrize(("path", "label"), [("/jobs/submit?type=REEL", "Title"), ("/jobs/schedules/edit?type=REEL", "Name")])
def test_leaving_a_form_that_was_typed_into_is_asked_about(served: Served, open_page: OpenPage, path: str, label: str) -> None:
    page = open_page(served.url + path)
    asked = asked_of(page)
    typed(page, label, "Unsaved")
    with page.expect_event("dialog"):
        page.get_by_role("link", name="Objects").click(no_wait_after=True)
    assert asked == ["beforeunload"]
    expect(page.get_by_label(label)).to_have_value("Unsaved")
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(re.compile("/jobs(/schedules)?$"))
    assert asked == ["beforeunload"]


def test_a_form_that_was_sent_or_not_touched_is_left_at_once(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs/submit?type=BROKEN")
    asked = asked_of(page)
    page.get_by_label("Type").select_option("REEL")
    expect(page).to_have_url(re.compile("type=REEL"))
    typed(page, "Title", "Sent")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("REEL")
    assert asked == []


def test_the_type_of_a_schedule_is_chosen_without_a_question(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs/schedules/edit?type=BROKEN")
    asked = asked_of(page)
    page.get_by_label("Type").select_option("REEL")
    expect(page.get_by_label("Title")).to_be_visible()
    assert asked == []

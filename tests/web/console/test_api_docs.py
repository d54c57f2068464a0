"""The API documentation, in a real browser: Swagger UI under the host's own policy, with the session and with a key."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.console.conftest import Served
from tests.web.console.faults import serious_faults
from tests.web.console.sample import Reels, reel

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


def operation(page: Page, group: str, verb: str, path: str) -> Locator:
    """Open an operation and its form."""
    page.locator(f".opblock-tag[data-tag='{group}']").click()
    found = page.locator(f".opblock-{verb}").filter(has=page.locator(f"[data-path='{path}']"))
    found.locator(".opblock-summary-control").click()
    found.get_by_role("button", name="Try it out").click()
    return found


def status(form: Locator) -> Locator:
    """The status of the response that has come."""
    return form.locator(".live-responses-table .response .response-col_status")


def test_a_job_is_submitted_with_the_session(served: Served, open_page: OpenPage) -> None:
    page = open_page(served.url + "/api/docs")
    form = operation(page, "Jobs", "post", "/api/jobs")
    form.locator("textarea").fill(json.dumps({"job_type": "REEL", "config": {"title": "From the docs"}}))
    with page.expect_response(lambda answer: answer.request.method == "POST") as sent:
        form.get_by_role("button", name="Execute").click()
    expect(status(form)).to_have_text(re.compile("^201"))
    with served.queue() as queue:
        assert queue.get(sent.value.json()["job"]["job_id"]).job_config["title"] == "From the docs"


def test_a_key_takes_the_place_of_the_session(served: Served, open_page: OpenPage) -> None:
    page = open_page(served.url + "/api/docs")
    page.get_by_role("button", name="Authorize").first.click()
    dialog = page.locator(".dialog-ux")
    dialog.locator("input").fill(served.token)
    dialog.locator("button.authorize").click()
    dialog.locator("button.btn-done").click()
    form = operation(page, "Jobs", "post", "/api/jobs")
    form.locator("textarea").fill(json.dumps({"job_type": "REEL", "config": {"title": "With a key"}}))
    with page.expect_request(lambda request: request.method == "POST") as sent:
        form.get_by_role("button", name="Execute").click()
    expect(status(form)).to_have_text(re.compile("^201"))
    assert sent.value.headers["authorization"] == f"Bearer {served.token}"
    assert "x-csrf-token" not in sent.value.headers


def test_parameters_go_into_the_path_and_the_query(served: Served, open_page: OpenPage) -> None:
    with served.queue() as queue:
        job = reel.submit(queue, Reels(title="x")).job
    page = open_page(served.url + "/api/docs")
    one = operation(page, "Jobs", "get", "/api/jobs/{job_id}")
    one.get_by_placeholder("job_id").fill(str(job.job_id))
    one.get_by_role("button", name="Execute").click()
    expect(status(one)).to_have_text(re.compile("^200"))
    expect(one.locator(".live-responses-table")).to_contain_text("REEL")


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_read_in_both_themes_and_by_screen_readers(served: Served, open_page: OpenPage, dark: bool) -> None:
    # `open_page` fails a test for whatever the policy refuses.
    page = open_page(served.url + "/api/docs", dark=dark)
    expect(page.locator(".opblock-tag").first).to_be_visible()
    assert page.locator("html.dark-mode").count() == int(dark)
    assert serious_faults(page) == []


def test_the_page_fits_a_phone(served: Served, open_page: OpenPage) -> None:
    page = open_page(served.url + "/api/docs", width=390)
    operation(page, "Jobs", "post", "/api/jobs")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

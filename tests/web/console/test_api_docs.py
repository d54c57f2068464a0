"""The forms of the API documentation, in a real browser."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.web.console.conftest import Served
from tests.web.console.faults import serious_faults
from tests.web.console.sample import Reels, reel

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


def operation(page: Page, verb: str, path: str) -> Locator:
    """Open an operation and its form."""
    found = page.locator(f'details.operation:has(> summary > b:text-is("{verb}")):has(> summary > code:text-is("{path}"))')
    found.locator("summary").first.click()
    found.get_by_text("Try it").click()
    return found


def test_a_job_is_submitted_from_the_documentation(served: Served, open_page: OpenPage) -> None:
    page = open_page(served.url + "/api/docs")
    form = operation(page, "POST", "/api/jobs")
    body = form.get_by_label("Body")
    assert json.loads(body.input_value()) == {"job_type": "demo.decades", "config": {}}
    body.fill(json.dumps({"job_type": "REEL", "config": {"title": "From the docs"}}))
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("status").first).to_have_text(re.compile(r"^HTTP 201 Created · \d+ ms · [\d.]+ (bytes|kB)$"))
    shown = json.loads(form.get_by_role("region", name="Response body").inner_text())
    with served.queue() as queue:
        assert queue.get(shown["job"]["job_id"]).job_config["title"] == "From the docs"
    form.get_by_text("Response headers").click()
    expect(form.get_by_role("region", name="Response headers")).to_contain_text("content-type: application/json")


def test_a_body_that_is_not_json_is_not_sent(served: Served, open_page: OpenPage) -> None:
    page = open_page(served.url + "/api/docs")
    form = operation(page, "POST", "/api/jobs")
    form.get_by_label("Body").fill("{")
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("alert")).to_contain_text("The body is not valid JSON")
    expect(form.get_by_label("Body")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_label("Body")).to_be_focused()
    expect(form.get_by_role("region", name="Response body")).to_have_count(0)


def test_the_curl_command_makes_the_same_call(served: Served, open_page: OpenPage) -> None:
    page = open_page(served.url + "/api/docs")
    form = operation(page, "POST", "/api/jobs")
    form.get_by_label("Body").fill(json.dumps({"job_type": "REEL", "config": {"title": "Ann's $reel"}}))
    form.get_by_text("As a curl command").click()
    command = form.get_by_role("region", name="curl command").inner_text()
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:4] == ["curl", "-X", "POST", f"{served.url}/api/jobs"]
    assert json.loads(words[-1])["config"]["title"] == "Ann's $reel"
    environment = {"KEY": served.token, "PATH": "/usr/bin:/bin"}
    answer = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["job"]["job_type"] == "REEL"


def test_numbers_that_scripts_cannot_represent_stay_as_they_are(served: Served, open_page: OpenPage) -> None:
    exact = '{"job_type": "REEL", "config": {"title": "x", "number": 12345678901234567891, "ratio": 0.1234567890123456789}}'
    page = open_page(served.url + "/api/docs")
    page.route("**/api/jobs", lambda route: route.fulfill(status=201, content_type="application/json", body=exact))
    form = operation(page, "POST", "/api/jobs")
    form.get_by_label("Body").fill(exact)
    form.get_by_text("As a curl command").click()
    command = form.get_by_role("region", name="curl command").inner_text()
    assert shlex.split(command.replace("\\\n", " "))[-1] == exact
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("region", name="Response body")).to_have_text(exact)


def test_parameters_go_into_the_path_and_the_query(served: Served, open_page: OpenPage) -> None:
    with served.queue() as queue:
        job = reel.submit(queue, Reels(title="x")).job
    page = open_page(served.url + "/api/docs")
    listed = operation(page, "GET", "/api/jobs")
    listed.get_by_label("limit").fill("1")
    listed.get_by_label("status").select_option("FAILED")
    with page.expect_request(re.compile(r"/api/jobs\?")) as sent:
        listed.get_by_role("button", name="Send").click()
    assert sorted(sent.value.url.partition("?")[2].split("&")) == ["limit=1", "status=FAILED"]
    one = operation(page, "GET", "/api/jobs/{job_id}")
    one.get_by_role("button", name="Send").click()
    expect(one.get_by_label("job_id")).to_be_focused()  # it is required
    one.get_by_label("job_id").fill(str(job.job_id))
    one.get_by_role("button", name="Send").click()
    expect(one.get_by_role("region", name="Response body")).to_contain_text('"job_type": "REEL"')


def test_events_appear_as_they_come_until_the_stream_is_stopped(served: Served, open_page: OpenPage) -> None:
    page = open_page(served.url + "/api/docs")
    form = operation(page, "GET", "/events/stats")
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("region", name="Response body")).to_contain_text("data:")
    form.get_by_role("button", name="Stop").click()
    expect(form.get_by_role("status").first).to_contain_text("Stopped.")
    expect(form.get_by_role("button", name="Send")).to_be_enabled()


def test_a_refusal_is_shown_with_its_status(served: Served, browser: Browser) -> None:
    context = browser.new_context()
    served.sign_in(context)
    page = context.new_page()
    page.goto(served.url + "/api/docs")
    form = operation(page, "POST", "/api/jobs")
    form.get_by_label("Body").fill('{"job_type": "NOPE"}')
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("status").first).to_contain_text("HTTP 422")
    expect(form.get_by_role("region", name="Response body")).to_contain_text("unknown-job-type")
    context.close()


def test_the_page_is_readable_without_scripts(served: Served, open_page: OpenPage) -> None:
    page = open_page(served.url + "/api/docs", java_script_enabled=False)
    page.locator("summary", has_text="/api/jobs/bulk").click()
    expect(page.get_by_text("Try it", exact=True).locator("visible=true")).to_have_count(0)


@pytest.mark.parametrize("dark", [False, True])
def test_the_forms_have_no_serious_fault_and_fit_a_phone(served: Served, open_page: OpenPage, dark: bool) -> None:
    page = open_page(served.url + "/api/docs", width=390, dark=dark)
    for verb, path in (("POST", "/api/jobs"), ("PUT", "/api/jobs/schedules/{name}"), ("GET", "/api/jobs")):
        form = operation(page, verb, path)
        form.get_by_text("As a curl command").click()
    form.get_by_role("button", name="Send").click()
    expect(page.get_by_role("region", name="Response body")).to_be_visible()
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

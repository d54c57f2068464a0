"""What an operator does with jobs, in a real browser on a real host."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from gateleg.jobs import Submission
from gateleg.jobs.table_streams import FailedChange
from tests.web.console.conftest import Served

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


def submit(served: Served, submission: Submission) -> UUID:
    with served.queue() as queue:
        return queue.submit(submission).job.job_id


def paced(served: Served, gate: Path, subject: str | None = None) -> UUID:
    return submit(served, Submission("PACED", {"gate": str(gate), "steps": 4}, subject=subject))


def chip(page: Page, word: str) -> None:
    expect(page.locator("header .chip")).to_have_text(re.compile(word))


def test_a_job_is_submitted_from_its_form(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs")
    page.locator("main header").get_by_role("link", name="Submit a job").click()
    page.get_by_label("Type").select_option("REEL")
    page.get_by_label("Title").fill("From the form")
    page.get_by_label("Subject").fill("Browser")
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    chip(page, "Done")
    page.get_by_role("link", name="Result").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("From the form")
    expect(page).to_have_url(re.compile(r"\?tab=result$"))


def test_what_is_wrong_is_said_at_its_field(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs/submit?type=REEL")
    page.get_by_label("Seconds").fill("9000")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("This field is required.")).to_be_visible()
    page.get_by_label("Title").fill("Too long")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("less than or equal to 600")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Too long")


def test_a_job_has_the_attributes_of_its_form(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs/submit?type=REEL")
    page.get_by_label("Title").fill("With attributes")
    options = page.get_by_role("region", name="Options")
    options.get_by_label("Max retries").fill("2")
    options.get_by_label("Timeout").fill("99")
    options.get_by_label("Tags").fill("one\ntwo")
    options.get_by_label("Run at").fill("soon")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("datetime")).to_be_visible()
    options.get_by_label("Run at").fill("2099-01-02T03:04:05Z")
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    with served.queue() as queue:
        job = queue.get(UUID(page.url.rpartition("/")[2]))
    assert (job.max_retries, job.timeout_seconds, job.tags) == (2, 99, ["one", "two"])
    assert job.run_at == datetime(2099, 1, 2, 3, 4, 5, tzinfo=UTC)


def kept_change(title: str) -> FailedChange:
    """A change that a handler has refused, as a consumer keeps it."""
    key = {"title": {"S": title}}
    told = {"Keys": key, "NewImage": key, "SequenceNumber": "1", "StreamViewType": "NEW_AND_OLD_IMAGES"}
    record = {"eventID": title, "eventName": "INSERT", "dynamodb": told}
    return FailedChange(
        consumer="reels", event_id=title, handler="shelve", table="Tapes", record=record, error="full", failed_at=datetime.now(UTC)
    )


def test_failed_changes_of_tables_are_listed_and_repeated(served: Served, open_page: OpenPage) -> None:
    with served.store() as store:
        for title in ("Found", "Lost"):
            store.put(kept_change(title))
    page = open_page(f"{served.url}/jobs/changes")
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="Found")).to_contain_text("shelve")
    page.get_by_role("button", name="Repeat all").click()
    page.get_by_role("dialog").get_by_role("button", name="Repeat all").click()
    expect(rows.filter(has_text="Found")).to_have_count(0)
    expect(rows.filter(has_text="Lost")).to_contain_text("no shelf")


def test_progress_and_log_are_live(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    page = open_page(f"{served.url}/jobs/{paced(served, gate)}")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "0")
    gate.write_text("1\n2\n")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    expect(page.get_by_role("log")).to_contain_text("step 2 done")
    gate.write_text("1\n2\n3\n4\n")
    chip(page, "Done")
    expect(page.get_by_role("progressbar")).to_have_count(0)


def test_a_running_job_is_cancelled(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(f"{served.url}/jobs/{paced(served, tmp_path / 'gate')}")
    chip(page, "Running")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_label("Reason").fill("no need")
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    chip(page, "Cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


def test_a_failed_job_says_why_and_is_tried_again(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    page = open_page(f"{served.url}/jobs/{submit(served, Submission('BROKEN', {'tape': str(tape)}))}")
    chip(page, "Failed")
    trouble = page.get_by_role("alert")
    expect(trouble).to_contain_text("FileNotFoundError: There is no tape in the machine.")
    expect(trouble).to_contain_text("Last line of the log: the tape is not there")
    expect(page.get_by_text("FileNotFoundError: There is no tape").filter(visible=True)).to_have_count(1)
    expect(trouble.get_by_role("group", name="Traceback")).to_contain_text("in broken")
    expect(trouble.get_by_text(re.compile(r"\d+ frames? of Gateleg and libraries")).first).to_be_visible()
    expect(page.get_by_text("execution.py").filter(visible=True)).to_have_count(0)
    expect(page.get_by_role("log")).to_contain_text(re.compile(r"Traceback, \d+ lines"))
    expect(page.locator("dl.facts dt", has_text="Retries").locator("+ dd")).to_have_text(re.compile(r"^\d+ of \d+$"))
    tape.touch()
    page.get_by_role("button", name="Retry").click()
    chip(page, "Done")
    expect(page.locator(".trouble")).to_have_count(0)
    expect(page.get_by_text("Attempt 2")).to_be_visible()


def test_a_tree_is_drawn_and_walked(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs/{submit(served, Submission('ALBUM', {}, subject='Walk'))}")
    tree = page.get_by_role("region", name="Tree")
    expect(tree).to_contain_text("5 of 5 done")
    tree.get_by_role("link", name="Mix").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("REEL: Mix")
    expect(tree.locator("[aria-current]")).to_contain_text("Mix")
    page.get_by_role("link", name="Graph").click()
    graph = page.get_by_role("group", name="Dependencies of the job")
    expect(graph).to_contain_text("Intro")
    expect(graph).to_contain_text("Verse")
    expect(graph).not_to_contain_text("Chorus")
    page.go_back()
    expect(page.get_by_role("log")).to_be_visible()


def test_the_graph_of_a_job_on_its_own_is_that_of_its_children(served: Served, open_page: OpenPage) -> None:
    album = submit(served, Submission("ALBUM", {}, subject="Children"))
    page = open_page(f"{served.url}/jobs/{album}")
    expect(page.get_by_role("region", name="Tree")).to_contain_text("5 of 5 done")
    page.get_by_role("link", name="Graph").click()
    graph = page.get_by_role("group", name="Dependencies of the job")
    for stage in ("Intro", "Verse", "Chorus", "Mix"):
        expect(graph).to_contain_text(stage)
    lone = submit(served, Submission("REEL", {"title": "Lone"}))
    page.goto(f"{served.url}/jobs/{lone}?tab=graph")
    expect(page.get_by_text("No dependencies")).to_be_visible()


def test_what_is_typed_into_a_filter_stays_when_rows_come(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs")
    page.get_by_label("Subject").fill("Half a word")
    job_id = submit(served, Submission("REEL", {"title": "Comes"}))
    expect(page.locator(f"tr[data-id='{job_id}']")).to_be_visible()
    assert page.get_by_label("Subject").input_value() == "Half a word"


def test_the_list_is_filtered_by_its_address_and_rows_change_in_place(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    job_id = paced(served, gate, subject="In place")
    page = open_page(f"{served.url}/jobs")
    page.get_by_label("Subject").fill("In place")
    page.get_by_label("Subject").press("Enter")
    expect(page).to_have_url(f"{served.url}/jobs?subject=In+place")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Running")
    gate.write_text("1\n2\n3\n4\n")
    expect(page.locator(f"tr[data-id='{job_id}']")).to_contain_text("Done")


def test_several_jobs_are_cancelled_at_once_and_it_is_in_the_audit_log(served: Served, open_page: OpenPage) -> None:
    for _ in range(3):
        submit(served, Submission("REEL", {"title": "Later"}, delay=3600, subject="Many"))
    page = open_page(f"{served.url}/jobs?subject=Many")
    page.get_by_label("Select all rows").check()
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.get_by_role("toolbar").get_by_role("button", name="Cancel").click()
    expect(page.locator(".chip", has_text="Cancelled")).to_have_count(3)
    expect(page.get_by_text("3 selected")).to_be_hidden()
    page.goto(f"{served.url}/settings?tab=audit")
    expect(page.locator("tr", has_text="job.cancel").first).to_be_visible()


def test_the_keyboard_reaches_everything(served: Served, open_page: OpenPage) -> None:
    submit(served, Submission("REEL", {"title": "Keys"}, subject="Keys"))
    page = open_page(f"{served.url}/jobs?subject=Keys")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("j")
    expect(page.locator("tr.at")).to_have_count(1)
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("REEL")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page).to_have_url(f"{served.url}/jobs")


def test_a_queue_is_paused_and_resumed(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs/queues")
    row = page.locator("tr[data-id='media']")
    row.get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("Paused")
    row.get_by_role("button", name="Resume").click()
    expect(row).to_contain_text("Running")


def test_a_schedule_is_made_run_and_removed(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs/schedules/edit?type=REEL")
    page.get_by_label("Name").fill("nightly")
    page.get_by_label("Cron").fill("0 3 * * *")
    page.get_by_label("Title").fill("Night")
    expect(page.get_by_label("Delay")).to_have_count(0)
    page.get_by_label("Concurrency key").fill("reels")
    page.get_by_role("button", name="Save").click()
    row = page.locator("tr[data-id='nightly']")
    expect(row).to_contain_text("0 3 * * *")
    row.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("Submitted")).to_be_visible()
    row.get_by_role("button", name="Edit").click()
    page.get_by_label("Cron").fill("30 4 * * *")
    page.get_by_label("Title").fill("Dawn")
    expect(page.get_by_label("Concurrency key")).to_have_value("reels")
    page.get_by_label("Enabled").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("30 4 * * *")
    expect(row).to_contain_text("Disabled")
    row.get_by_role("button", name="Enable").click()
    expect(row).to_contain_text("Enabled")
    row.get_by_role("link", name="nightly").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.go_back()
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_only_the_dead_letters_with_one_error_are_retried(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    fits = submit(served, Submission("BROKEN", {"tape": str(tape)}))
    other = submit(served, Submission("BROKEN", {"fault": "The tape is torn."}))
    page = open_page(f"{served.url}/jobs/dead")
    expect(page.locator(f"tr[data-id='{fits}']")).to_contain_text("FileNotFoundError")
    expect(page.locator(f"tr[data-id='{other}']")).to_contain_text("ValueError")
    expect(page.get_by_text("There is no tape in the machine.")).to_have_count(1)
    tape.touch()
    page.get_by_role("region", name="By error").locator("tr", has_text="FileNotFoundError").get_by_role(
        "button", name="Retry these"
    ).click()
    page.get_by_role("dialog").get_by_role("button", name="Retry", exact=True).click()
    expect(page.locator(f"tr[data-id='{fits}']")).to_have_count(0)
    expect(page.locator(f"tr[data-id='{other}']")).to_be_visible()
    with served.queue() as queue:
        assert queue.get(other).attempt == 1


def test_dead_letters_are_retried_together(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    job_id = submit(served, Submission("BROKEN", {"tape": str(tape)}))
    page = open_page(f"{served.url}/jobs/dead")
    row = page.locator(f"tr[data-id='{job_id}']")
    expect(row).to_contain_text("FileNotFoundError")
    other = submit(served, Submission("BROKEN", {"fault": "The tape is torn."}))
    expect(page.locator(f"tr[data-id='{other}']")).to_be_visible()
    tape.touch()
    page.get_by_role("button", name="Retry all BROKEN").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Retry", exact=True).click()
    expect(row).to_have_count(0)


def test_failed_jobs_are_archived(served: Served, open_page: OpenPage) -> None:
    gone, group = (submit(served, Submission("BROKEN", {"fault": "Torn."}, subject="Away")) for _ in range(2))
    page = open_page(f"{served.url}/jobs/dead")
    page.locator(f"tr[data-id='{gone}'] input").check()
    page.get_by_role("toolbar").get_by_role("button", name="Archive").click()
    expect(page.locator(f"tr[data-id='{gone}']")).to_have_count(0)
    row = page.get_by_role("region", name="By error").locator("tr", has_text="ValueError")
    row.get_by_role("button", name="Archive these").click()
    page.get_by_role("dialog").get_by_role("button", name="Archive", exact=True).click()
    expect(page.locator(f"tr[data-id='{group}']")).to_have_count(0)
    page.goto(f"{served.url}/jobs/{gone}")
    expect(page.get_by_text("This job is in the archive")).to_be_visible()


def test_a_tree_whose_root_is_done_runs_and_is_cancelled(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    root = submit(served, Submission("CREW", {"gates": [str(tmp_path / name) for name in ("one", "two")]}))
    page = open_page(f"{served.url}/jobs/{root}")
    expect(page.locator("header .titles")).to_contain_text(re.compile("Running.*1 of 3 done, 2 running"))
    tree = page.get_by_role("region", name="Tree")
    expect(tree).to_contain_text(f"gate {tmp_path / 'one'}"[:40])
    page.get_by_role("button", name="Cancel tree").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel tree").click()
    chip(page, "Partly cancelled")
    expect(tree).to_contain_text("1 of 3 done, 2 cancelled")
    expect(page.get_by_role("button", name="Cancel tree")).to_have_count(0)


def test_more_children_than_fit_are_a_link_away(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    root = submit(served, Submission("CREW", {"gates": [str(tmp_path / str(at)) for at in range(20)]}))
    page = open_page(f"{served.url}/jobs/{root}")
    tree = page.get_by_role("region", name="Tree")
    expect(tree.get_by_role("link")).to_have_count(14)
    tree.get_by_role("link", name="and 8 more").click()
    expect(tree.get_by_role("link")).to_have_count(21)
    page.get_by_role("button", name="Cancel tree").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel tree").click()
    chip(page, "Partly cancelled")


def test_a_job_that_there_is_not_says_so(served: Served, browser: object, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/jobs/archive")
    answer = page.request.get(f"{served.url}/jobs/00000000-0000-0000-0000-000000000000")
    assert answer.status == 404
    assert page.request.get(f"{served.url}/jobs/nonsense").status == 404


def test_what_a_job_is_about_is_wrapped_when_it_is_long(served: Served, open_page: OpenPage) -> None:
    job = submit(served, Submission("REEL", {"title": "Long"}, subject="without-a-break" * 15))
    page = open_page(f"{served.url}/jobs/{job}", width=390)
    expect(page.get_by_role("link", name="without-a-break")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

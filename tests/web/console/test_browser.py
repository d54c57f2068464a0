"""Every page of the kit in a real browser: it can be read by everyone, fits a phone, and says nothing in the browser's log."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from gateleg.jobs import Submission
from tests.web.console.conftest import Served, serving
from tests.web.console.faults import cut_off_without_a_hint, serious_faults

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]
PAGES = (
    "/",
    "/jobs",
    "/jobs/queues",
    "/jobs/workers",
    "/jobs/schedules",
    "/jobs/schedules/edit",
    "/jobs/dead",
    "/jobs/changes",
    "/jobs/archive",
    "/jobs/submit",
    "/migrations",
    "/settings",
    "/settings?tab=keys",
    "/settings?tab=sessions",
    "/sessions",
    "/settings?tab=secrets",
    "/settings?tab=webhooks",
    "/settings?tab=audit",
    "/settings?tab=models",
    "/settings?tab=about",
    "/search?q=re",
)


@pytest.fixture(scope="module")
def filled(served: Served) -> Served:
    """The host with a tree, a failure, something delayed and a schedule."""
    with served.queue() as queue:
        queue.submit(Submission("ALBUM", {}, subject="Filled", tags=["night"]))
        queue.submit(Submission("BROKEN", {}, subject="Filled"))
        queue.submit(Submission("REEL", {"title": "Later"}, delay=3600))
        queue.schedule("hourly", Submission("REEL", {"title": "Hourly"}), every=3600)
    return served


def settled(page: Page) -> Page:
    """A page whose socket is there and whose content is."""
    expect(page.locator("main h1").first).to_be_attached()
    return page


@pytest.mark.parametrize("path", [*PAGES[:2], *(pytest.param(path, marks=pytest.mark.sweep) for path in PAGES[2:])])
def test_a_page_has_no_serious_fault_in_light_and_dark_and_fits_a_phone(filled: Served, open_page: OpenPage, path: str) -> None:
    page = settled(open_page(filled.url + path))
    assert serious_faults(page) == []
    page.emulate_media(color_scheme="dark")
    assert serious_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_role("button", name="Open the navigation")).to_be_visible()
    page.wait_for_function("document.documentElement.scrollWidth === 390")


@pytest.mark.sweep
def test_no_tab_of_a_job_has_a_serious_fault(filled: Served, open_page: OpenPage) -> None:
    with filled.queue() as queue:
        (failed,) = queue.jobs_page(job_type="BROKEN", subject="Filled").items
        mix = next(job for job in queue.jobs_page(job_type="REEL", subject="Filled") if job.job_stage == "Mix")
    page = settled(open_page(f"{filled.url}/jobs/{failed.job_id}"))
    assert serious_faults(page) == []
    page.goto(f"{filled.url}/jobs/{mix.job_id}")
    for tab in ("Config", "Result", "Artifacts", "Graph", "Raw"):
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute("aria-current", "page")
        assert serious_faults(page) == []


@pytest.mark.parametrize("path", ["/jobs", "/jobs/dead", "/jobs/schedules", "/settings"])
def test_what_is_wider_than_a_phone_has_a_shade_at_its_edge(filled: Served, open_page: OpenPage, path: str) -> None:
    page = open_page(filled.url + path, width=390)
    expect(page.locator("main [role=tab], main .tabs a").first).to_be_visible()
    assert cut_off_without_a_hint(page) == []


def test_on_a_phone_the_rail_is_a_drawer(filled: Served, open_page: OpenPage) -> None:
    page = open_page(f"{filled.url}/jobs", width=390, height=844)
    rail = page.get_by_role("navigation", name="Main")
    expect(rail).not_to_be_in_viewport()
    page.get_by_role("button", name="Open the navigation").click()
    expect(rail).to_be_in_viewport()
    rail.get_by_role("link", name="Settings").click()
    expect(page).to_have_url(f"{filled.url}/settings")


def test_the_theme_is_kept(filled: Served, open_page: OpenPage) -> None:
    page = open_page(f"{filled.url}/settings")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitem", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.goto(f"{filled.url}/jobs")
    assert page.evaluate(ground) != light


def test_the_rail_is_folded_and_stays_so(filled: Served, open_page: OpenPage) -> None:
    page = open_page(f"{filled.url}/settings")
    page.get_by_role("button", name="Collapse or widen the navigation").click()
    expect(page.locator(".q-drawer--mini")).to_have_count(1)
    page.goto(f"{filled.url}/jobs")
    expect(page.locator(".q-drawer--mini")).to_have_count(1)
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs")).to_be_visible()


def test_an_address_that_leads_nowhere_has_a_way_on(filled: Served, open_page: OpenPage) -> None:
    page = open_page(f"{filled.url}/settings")
    answer = page.request.get(f"{filled.url}/nowhere", headers={"Accept": "text/html"})
    assert answer.status == 404
    assert "Page not found" in answer.text()
    picture = page.request.get(f"{filled.url}/nowhere.png", headers={"Accept": "image/png"})
    assert (picture.status, picture.headers["content-type"], picture.json()["error"]["code"]) == (404, "application/json", "not-found")


def test_search_leads_to_a_job_by_its_id_and_to_pages_by_name(filled: Served, open_page: OpenPage) -> None:
    with filled.queue() as queue:
        (failed,) = queue.jobs_page(job_type="BROKEN", subject="Filled").items
    page = open_page(f"{filled.url}/settings")
    page.keyboard.press("/")
    page.keyboard.type(str(failed.job_id))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("BROKEN")
    page.goto(f"{filled.url}/search?q={str(failed.job_id)[:8]}")  # as lists show it
    expect(page).to_have_url(f"{filled.url}/jobs/{failed.job_id}")
    page.goto(f"{filled.url}/search?q={str(failed.job_id)[:7]}")
    expect(page.get_by_role("heading", name="Nothing found", exact=True)).to_be_visible()
    page.goto(f"{filled.url}/search?q=fail")
    page.get_by_role("main").get_by_role("link", name="Failed", exact=True).click()
    expect(page).to_have_url(f"{filled.url}/jobs/dead")
    page.goto(f"{filled.url}/search?q=nothing+is+called+that")
    expect(page.get_by_role("heading", name="Nothing found", exact=True)).to_be_visible()


def test_search_answers_while_typing_and_by_keyboard(filled: Served, open_page: OpenPage) -> None:
    page = open_page(f"{filled.url}/settings")
    field = page.get_by_role("combobox", name="Search")
    field.press_sequentially("bro")
    results = page.get_by_role("listbox", name="Search results")
    expect(results.get_by_role("option")).to_have_text([re.compile("BROKEN.*Job type")])
    expect(field).to_have_attribute("aria-expanded", "true")
    field.press("Escape")
    expect(results).to_be_hidden()
    expect(field).to_be_focused()
    field.fill("jobs")
    expect(results.get_by_role("option").first).to_be_visible()
    field.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "search-place-0")
    expect(results.locator("[aria-selected=true]")).to_have_count(1)
    field.press("Enter")
    expect(page).to_have_url(f"{filled.url}/jobs")
    field.fill("nothing at all")
    expect(results).to_contain_text("Nothing found")
    field.press("Enter")
    expect(page).to_have_url(f"{filled.url}/search?q=nothing+at+all")
    expect(field).to_have_value("nothing at all")


def test_a_result_of_the_search_is_opened_with_the_mouse_on_a_phone(filled: Served, open_page: OpenPage) -> None:
    page = open_page(f"{filled.url}/settings", width=390)
    page.get_by_role("combobox", name="Search").fill("workers")
    option = page.get_by_role("option", name="Workers")
    expect(option).to_be_in_viewport(ratio=1)
    option.get_by_role("link").click()
    expect(page).to_have_url(f"{filled.url}/jobs/workers")


def test_the_figures_and_alarms_of_the_overview_are_live(filled: Served, open_page: OpenPage) -> None:
    with filled.queue() as queue:
        page = open_page(f"{filled.url}/")
        waiting = page.locator(".figure", has_text="Waiting").locator(".value")
        expect(waiting).to_have_text("0")
        # No worker looks into this queue, so what is in it stays.
        queue.pause("night")
        held = queue.submit(Submission("REEL", {"title": "Held"}, queue="night")).job
        expect(waiting).to_have_text("1")
        expect(page.get_by_text("night is paused").first).to_be_visible()
        queue.cancel(held.job_id)
        expect(waiting).to_have_text("0")


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host with a key for each role, and no worker."""
    with serving(tmp_path_factory.mktemp("keys"), "--keys", "--idle", "--application", "tests.web.console.sample:reels") as served:
        yield served


def sign_in(page: Page, served: Served, role: str) -> None:
    page.get_by_label("API key").fill(served.tokens[role])
    page.get_by_role("button", name="Sign in").click()


def test_who_has_a_key_signs_in_and_a_viewer_is_offered_nothing(keyed: Served, open_page: OpenPage) -> None:
    with keyed.queue() as queue:
        job_id = queue.submit(Submission("REEL", {"title": "Held"})).job.job_id
    page = open_page(f"{keyed.url}/jobs/{job_id}")
    expect(page).to_have_url(re.compile("/signin"))
    sign_in(page, keyed, "viewer")
    expect(page.get_by_role("heading", level=1)).to_have_text("REEL")
    for name in ("Cancel", "Retry", "Priority", "Submit again"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    for path in ("/jobs/submit", "/jobs/schedules/edit", "/settings?tab=keys", "/settings?tab=audit"):
        page.goto(keyed.url + path)
        expect(page.get_by_role("alert")).to_contain_text("This needs the role")
    page.goto(f"{keyed.url}/jobs")
    expect(page.get_by_label("Select all rows")).to_have_count(0)
    expect(page.get_by_role("link", name="Submit a job")).to_have_count(0)


def test_an_admin_makes_a_key_which_is_shown_once_and_takes_it_back(keyed: Served, open_page: OpenPage) -> None:
    page = open_page(f"{keyed.url}/settings?tab=keys")
    sign_in(page, keyed, "admin")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_role("dialog", name="Create a key")).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_label("Name").fill("robot")
    page.get_by_label("Role").select_option("operator")
    page.get_by_role("button", name="Create", exact=True).click()
    token = page.locator(".sheet pre").inner_text()
    shown = {"Authorization": f"Bearer {token}"}
    assert page.request.get(f"{keyed.url}/api/jobs", headers=shown).status == 200
    page.get_by_role("button", name="I have copied it").click()
    row = page.locator("tr", has_text="robot")
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("Revoked")
    assert page.request.get(f"{keyed.url}/api/jobs", headers=shown).status == 401
    expect(page.get_by_text(token)).to_have_count(0)


def test_an_admin_revokes_several_keys_at_once(keyed: Served, open_page: OpenPage) -> None:
    admin = {"Authorization": f"Bearer {keyed.tokens['admin']}"}
    page = open_page(f"{keyed.url}/settings?tab=keys")
    for name in ("left one", "left two"):
        assert page.request.post(f"{keyed.url}/api/keys", headers=admin, data={"name": name}).status == 201
    sign_in(page, keyed, "admin")
    rows = page.locator("tr", has_text="left")
    expect(rows).to_have_count(2)
    for row in rows.all():
        row.get_by_role("checkbox").check()
    bar = page.get_by_role("toolbar", name="Selected keys")
    expect(bar).to_contain_text("2 selected")
    assert serious_faults(page) == []
    bar.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog", name="Revoke 2 keys?").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("2 revoked")).to_be_visible()
    for row in rows.all():
        expect(row).to_contain_text("Revoked")

"""Pages on a store that takes its time: they come at once, say that they wait, and show what they waited for."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gateleg.jobs import Submission
from tests.web.console.conftest import Served, serving

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]
#: Each page, and what stands on it when it is there.
PAGES = {
    "/": ".quarters .figure",
    "/jobs": "tr[data-id]",
    "/jobs/dead": ".empty, tr[data-id]",
    "/jobs/queues": "tr[data-id='media']",
    "/jobs/workers": ".empty, tr[data-id]",
    "/jobs/schedules": "tr[data-id='slowly']",
    "/jobs/archive": ".empty, tr[data-id]",
    "/tables": "tr[data-id='JobQueue']",
    "/settings?tab=audit": ".empty, tr[data-id]",
}

#: Those that are made like one of the first.
OTHERS = PAGES.keys() - {"/", "/jobs", "/tables"}


@pytest.fixture(scope="module")
def distant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host without a worker, whose store can be slowed down."""
    with serving(tmp_path_factory.mktemp("distant"), "--idle", "--application", "tests.web.console.sample:reels") as served:
        with served.queue() as queue:
            queue.submit(Submission("REEL", {"title": "Slow"}))
            queue.schedule("slowly", Submission("REEL", {"title": "Slowly"}), every=3600)
        yield served


@pytest.fixture
def slow(distant: Served) -> Iterator[Path]:
    """While this file is there, nothing is read."""
    gate = distant.folder / "slow"
    yield gate
    gate.unlink(missing_ok=True)


@pytest.mark.parametrize("path", ["/", "/jobs", "/tables", *(pytest.param(path, marks=pytest.mark.sweep) for path in sorted(OTHERS))])
def test_a_page_waits_with_a_skeleton_and_then_shows_what_it_waited_for(
    distant: Served, open_page: OpenPage, slow: Path, path: str
) -> None:
    slow.touch()
    page = open_page(distant.url + path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    waiting = page.locator("[aria-busy=true]")
    expect(waiting.first).to_be_visible()
    expect(page.locator(PAGES[path])).to_have_count(0)
    slow.unlink()
    expect(page.locator(PAGES[path]).first).to_be_visible()
    expect(waiting).to_have_count(0)


def test_a_page_that_is_left_while_it_waits_does_no_harm(distant: Served, open_page: OpenPage, slow: Path) -> None:
    slow.touch()
    page = open_page(f"{distant.url}/jobs?queue=media")
    expect(page.locator("[aria-busy=true]")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
    slow.unlink()
    page.goto(f"{distant.url}/jobs")
    expect(page.locator("tr[data-id]").first).to_be_visible()
    assert "Traceback" not in (distant.folder / "host.log").read_text()

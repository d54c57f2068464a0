"""The pages of document collections in a real browser."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.apps.rag.ingesting.second_model import second_model
from tests.apps.rag.parsing import samples
from tests.conftest import chromium
from tests.web.console.conftest import Served, open_page, serving
from tests.web.console.faults import serious_faults

__all__ = ["open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]
Open = Callable[..., Page]
MANUAL = b"# The pump\n\nThe pump stops when the error E42 is shown. Press the green button for five seconds to start it again.\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("library"), "--keys", "--application", "gateleg.apps.rag.application:application") as served:
        yield served


def _as(library: Served, open_page: Open, role: str, path: str, **options: Any) -> Page:
    page = open_page(f"{library.url}{path}", **options)
    page.get_by_label("API key").fill(library.tokens[role])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "signin" not in url)
    return page


def _create(page: Page, library: Served, repository: str, **fields: str) -> None:
    page.goto(f"{library.url}/rag/new")
    page.get_by_role("textbox", name="Id").fill(repository)
    for label, text in fields.items():
        page.get_by_role("textbox", name=label).fill(text)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Collections")).to_be_visible()


def test_a_document_is_sent_found_and_asked(library: Served, open_page: Open) -> None:
    page = _as(library, open_page, "admin", "/rag")
    _create(page, library, "manuals", Name="Manuals")
    page.get_by_role("textbox", name="Name").fill("Machines")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Machines")).to_be_visible()
    page.locator("input[type=file]").set_input_files(FilePayload(name="pump.md", mimeType="text/markdown", buffer=MANUAL))
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("Searchable")).to_be_visible(timeout=60_000)
    assert serious_faults(page) == []
    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_label("Search for").fill("error E42")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".rag-hit mark").first).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("Ask the documents").fill("Which button starts the pump again?")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".rag-answer")).to_contain_text("green button")
    expect(page.get_by_label("Ask the documents")).to_have_value("")
    page.get_by_label("Ask the documents").fill("Who invented the pump?")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".rag-answer").last).to_contain_text("No sentence in these documents answers this. The nearest passages are below.")
    expect(page.locator(".rag-sources").last.locator("blockquote").first).to_contain_text("The pump stops when the error E42 is shown.")
    assert serious_faults(page) == []
    page.locator(".rag-cite").first.click()
    expect(page.locator(".rag-passage.pointed mark")).to_contain_text("green button")
    assert serious_faults(page) == []
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "pump.md"
    assert download.value.path().read_bytes() == MANUAL


PAGES = [["The harbour closes at noon."], ["Ships leave with the tide.", "The pilot boards near the red buoy."]]


def _shelf(page: Page, library: Served) -> str:
    """A collection with a PDF of two pages; its address."""
    _create(page, library, "harbour", Name="Harbour")
    page.get_by_role("textbox", name="Name").fill("Ships")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Ships")).to_be_visible()
    page.locator("input[type=file]").set_input_files(
        FilePayload(name="ships.pdf", mimeType="application/pdf", buffer=samples.pdf(PAGES, title="Ships"))
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("Searchable")).to_be_visible(timeout=60_000)
    return page.url.partition("?")[0]


def test_a_citation_leads_to_the_page_and_a_collection_is_measured_and_explained(library: Served, open_page: Open) -> None:
    page = _as(library, open_page, "admin", "/rag")
    shelf = _shelf(page, library)
    page.goto(f"{shelf}?tab=ask")
    page.get_by_label("Ask the documents").fill("Where does the pilot board?")
    page.get_by_role("button", name="Ask").click()
    page.locator(".rag-cite").first.click()
    expect(page.get_by_role("heading", name="Page 2 of 2")).to_be_visible()
    expect(page.locator(".rag-page img")).to_have_js_property("complete", value=True)
    assert page.locator(".rag-page img").evaluate("(image) => image.naturalWidth") > 1_000
    # The sentence is marked on the picture and in the passage.
    expect(page.locator(".rag-overlay rect.span")).to_have_count(1)
    expect(page.locator(".rag-passage.pointed mark")).to_have_text("The pilot boards near the red buoy.")
    assert serious_faults(page) == []
    _measure(page, shelf)
    page.goto(f"{shelf}?tab=access")
    page.get_by_label("Name", exact=True).fill("member")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="member, member")).to_be_visible()
    assert serious_faults(page) == []
    page.goto(f"{shelf}?tab=pipelines")
    page.get_by_label("Object store").fill("nowhere")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.get_by_role("button", name="Dry run").click()
    expect(page.locator(".trouble .what")).to_have_text("There is no object store named 'nowhere'.")
    assert serious_faults(page) == []


def _measure(page: Page, shelf: str) -> None:
    page.goto(f"{shelf}?tab=evaluate")
    page.get_by_role("textbox", name="Name").fill("Pilots")
    page.get_by_label("Questions to generate").fill("0")
    page.get_by_label("Your own questions").fill("Where does the pilot board? | ships.pdf | near the red buoy")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("1 questions, written")).to_be_visible()
    page.get_by_role("link", name="All golden sets").click()
    page.get_by_role("button", name="Measure").click()
    expect(page.get_by_text("The run has started")).to_be_visible()
    page.get_by_role("link", name="Pilots").nth(1).click(timeout=60_000)
    expect(page.get_by_text("nDCG@10")).to_be_visible()
    expect(page.get_by_text("ranks every question equally well")).to_be_visible()
    assert serious_faults(page) == []


def test_members_outside_of_the_groups_find_nothing(library: Served, open_page: Open) -> None:
    admin = _as(library, open_page, "admin", "/rag")
    _create(admin, library, "secret", Groups="board")
    member = _as(library, open_page, "member", "/rag")
    expect(member.get_by_role("heading", name="Repositories", exact=True)).to_be_visible()
    expect(member.get_by_text("secret")).to_have_count(0)
    for place in ("/rag/secret", "/rag/secret/collection/default", "/rag/secret/document/x"):
        member.goto(f"{library.url}{place}")
        expect(member.get_by_role("heading", name="There is no such").first).to_be_visible()


@pytest.mark.sweep
@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
@pytest.mark.parametrize(
    "path", ["", "/new", "/screens", *(f"/screens/collection/default?tab={tab}" for tab in ("settings", "access", "evaluate", "pipelines"))]
)
def test_every_page_is_for_everybody_on_every_screen(library: Served, open_page: Open, path: str, width: int, dark: bool) -> None:
    page = _as(library, open_page, "admin", "/rag", width=width, dark=dark)
    page.request.post(f"{library.url}/api/rag/repository", data={"repositoryId": "screens"})
    page.goto(f"{library.url}/rag{path}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_embedding_model_of_a_collection_is_changed(library: Served, open_page: Open) -> None:
    page = _as(library, open_page, "admin", "/rag")
    _create(page, library, "models", Name="Models")
    page.get_by_role("textbox", name="Name").fill("Embedded")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Embedded")).to_be_visible()
    page.get_by_role("navigation", name="Tabs").get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", name="Change the embedding model")).to_be_visible()
    collection = page.url
    form = page.get_by_role("textbox", name="Embedding model")
    form.fill("local:unknown")
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_text("is not available on this host")).to_be_visible()
    assert serious_faults(page) == []
    with second_model() as other:
        form.fill(other.address)
        page.get_by_role("button", name="Save").last.click()
        page.wait_for_url(lambda url: "/jobs/" in url)
        expect(page.get_by_text("Done", exact=True).first).to_be_visible(timeout=60_000)
        page.goto(collection)
        expect(page.get_by_text(other.address).first).to_be_visible()

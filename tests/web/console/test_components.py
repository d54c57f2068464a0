"""The example of the docs, served as it stands, and plain NiceGUI elements inside the frame, in a real browser."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from gateleg.web.console import components
from tests.web.console.conftest import Served, serving

OpenPage = Callable[..., Page]
DOCS = Path(__file__).parents[3] / "docs/how-to/console.md"
PLAIN = """
from nicegui import ui
from gateleg.store import CursorRejected
from gateleg.host import Application
from gateleg.web.console.components import Column, Grid, Row, bar_cell, frame

def register_pages(resources):
    @ui.page("/plain")
    async def show():
        with frame(title="Plain", section="plain"):
            with ui.card():
                ui.input("Title")
                ui.button("Save it")
                ui.button("Leave it").props("flat")
            names = [f"column_{at}" for at in range(20)]
            ui.table(columns=[{"name": one, "label": one, "field": one} for one in names], rows=[dict.fromkeys(names, "a value")])
            columns = [Column(name.lower(), name) for name in ("Name", "Took", "Size", "Cost", "Progress")]
            rows = [
                Row(name, {"name": name, "took": took, "size": size, "cost": cost, "progress": bar_cell(part)})
                for name, took, size, cost, part in (
                    ("a", "3 min 5 s", "3.4 kB", "0.0500", 0.1),
                    ("b", "340 ms", "512 bytes", "0.0012", 0.05),
                    ("c", "3 min", "2 MB", "-1.5", 1.0),
                )
            ]
            Grid("Measured", columns, rows, complete=True)

    @ui.page("/plain/pages")
    async def fail(cursor: str = "", look: str = ""):
        with frame(title="Pages", section="plain"):
            if cursor:
                raise CursorRejected("The cursor is of another list.", fix="Start again without it.")
            ui.label(f"the first page {look}")

plain = Application(name="plain", title="Plain", icon="star", pages=register_pages)
"""


def test_the_docs_name_every_component() -> None:
    text = DOCS.read_text()
    assert [name for name in components.__all__ if f"`{name}`" not in text] == []


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("pages")
    (code,) = re.findall(r"^```python\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "loans_page.py").write_text(code)
    (folder / "plain_page.py").write_text(PLAIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{folder}:{':'.join(sys.path)}")
        with serving(folder, "--idle", "--application", "loans_page:application", "--application", "plain_page:plain") as served:
            yield served


def style(element: Locator, name: str) -> str:
    return str(element.evaluate(f"element => getComputedStyle(element).getPropertyValue({name!r})"))


@pytest.mark.browser
def test_the_example_of_the_docs_works(pages: Served, open_page: OpenPage) -> None:
    page = open_page(f"{pages.url}/loans")
    expect(page.get_by_text("Nothing is lent")).to_be_visible()
    page.get_by_role("button", name="Lend").click()
    expect(page.get_by_text("This field is required.")).to_be_visible()
    page.get_by_label("Title").fill("Kindred")
    page.get_by_role("button", name="Lend").click()
    expect(page.locator("tr[data-id='Kindred'] .chip")).to_contain_text("On time")
    expect(page.get_by_label("Title")).to_have_value("")
    page.get_by_label("Title").fill("Kindred")
    page.get_by_role("button", name="Lend").click()
    expect(page.get_by_role("alert")).to_contain_text("Kindred")
    expect(page.get_by_label("Title")).to_have_value("Kindred")


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_plain_elements_have_the_colours_of_the_console_and_no_capitals(pages: Served, open_page: OpenPage, dark: bool) -> None:
    page = open_page(f"{pages.url}/plain", dark=dark)
    button = page.get_by_role("button", name="Save it")
    assert style(button, "text-transform") == "none"
    colours = "rgb(236, 237, 239)" if dark else "rgb(24, 24, 27)", "rgb(22, 23, 26)" if dark else "rgb(255, 255, 255)"
    assert (style(button, "background-color"), style(button, "color")) == colours
    assert style(page.locator(".q-card").first, "background-color") == colours[1]
    box = page.locator(".q-field").bounding_box()
    assert box is not None
    assert box["width"] < 500


@pytest.mark.browser
def test_a_plain_table_scrolls_inside_itself_on_a_phone(pages: Served, open_page: OpenPage) -> None:
    page = open_page(f"{pages.url}/plain", width=390)
    expect(page.get_by_role("cell", name="a value").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
@pytest.mark.parametrize(("column", "order"), [("Took", "bca"), ("Size", "bac"), ("Cost", "cba"), ("Progress", "bac")])
def test_quantities_are_sorted_by_their_size(pages: Served, open_page: OpenPage, column: str, order: str) -> None:
    page = open_page(f"{pages.url}/plain")
    page.get_by_role("columnheader", name=column).get_by_role("button").click()
    expect(page.get_by_role("table", name="Measured").locator("td.lead")).to_have_text([*order])


@pytest.mark.browser
def test_a_page_that_fails_shows_its_error_once_and_can_be_tried_again(pages: Served, browser: Browser) -> None:
    context = browser.new_context()
    pages.sign_in(context)
    page = context.new_page()
    page.goto(f"{pages.url}/plain/pages?cursor=old&look=short")
    expect(page.get_by_role("heading", name="This page failed")).to_be_visible()
    page.wait_for_function("window.socket?.connected")
    # A notification would come with the first messages, and go after some seconds.
    page.wait_for_timeout(1_000)
    assert page.get_by_text("The cursor is of another list.").count() == 1
    page.get_by_role("link", name="Try again").click(timeout=5_000)
    expect(page.get_by_text("the first page short")).to_be_visible()
    context.close()

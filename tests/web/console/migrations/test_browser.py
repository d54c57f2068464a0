"""A table is moved from the console, in a real browser on a real host with a worker."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from gateleg.store import Store
from tests.web.console.conftest import Served, serving
from tests.web.console.faults import serious_faults
from tests.web.console.migrations.shop import OldLine, fill

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host whose shop has old orders, and a line without an order."""
    folder = tmp_path_factory.mktemp("moved")
    with Store.connect(f"embedded:{folder}?durability=relaxed") as store:
        fill(store, 8, orphan=True)
    with serving(folder, "--application", "tests.web.console.migrations.shop:shop") as served:
        yield served


def press(page: Page, text: str, within: str = "header") -> None:
    """Press a button of the page and the one of the same name that confirms it."""
    page.locator(f"main {within}").get_by_role("button", name=text).first.click()
    page.get_by_role("dialog").get_by_role("button", name=text).click()


def check_looks(page: Page) -> None:
    """Nothing on the page shuts anybody out, in light and dark, and it fits a phone."""
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert serious_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.documentElement.scrollWidth === 390")
    page.set_viewport_size({"width": 1440, "height": 900})


def test_a_table_is_moved_repaired_and_moved_back(shop: Served, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{shop.url}/migrations")
    page.get_by_role("link", name="0002 orders-by-customer").click()
    expect(page.locator("header .chip")).to_have_text(re.compile("Pending"))
    press(page, "Apply all up to cut-over")
    expect(page.locator("header .chip.large")).to_have_text(re.compile("Failed"), timeout=60_000)
    expect(page.locator(".note.failed")).to_contain_text("has no parent")
    page.get_by_role("link", name="lines").first.click()
    expect(page.locator("[aria-current=step]")).to_contain_text("backfill")
    expect(page.get_by_role("row", name=re.compile("Orphan"))).to_contain_text("lost")
    page.get_by_role("button", name="Show samples").click()
    expect(page.get_by_role("region", name="Item 1 after")).to_contain_text("berlin#customer-0")
    check_looks(page)
    with shop.store() as store:
        store.delete(OldLine.key(shop="berlin", line_id="lost"))
    press(page, "Repeat failed items")
    expect(page.get_by_text("No failed items")).to_be_visible()
    page.goto(f"{shop.url}/migrations/shop/2")
    press(page, "Apply all up to cut-over")
    expect(page.locator("header .chip.large")).to_have_text(re.compile("Applied"), timeout=60_000)
    expect(page.get_by_text("2 old and 2 new items")).to_have_count(2)
    check_looks(page)
    page.locator("main header").get_by_role("button", name="Roll back").click()
    page.get_by_role("dialog").get_by_label("Back to").select_option("off")
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.locator("header .chip.large")).to_have_text(re.compile("Rolled back"), timeout=60_000)


def test_a_host_without_migrations_shows_how_one_is_written(served: Served, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{served.url}/migrations", width=390, dark=True)
    expect(page.get_by_text("No migrations")).to_be_visible()
    expect(page.get_by_role("region", name="An example")).to_contain_text("m0001_orders_by_customer.py")
    expect(page.get_by_role("region", name="Drift").or_(page.get_by_text("deployed as declared")).first).to_be_visible()

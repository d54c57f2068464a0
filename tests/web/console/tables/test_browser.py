"""The pages about tables in a real browser."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from gateleg.host.item_keys import item_address, key_text
from gateleg.host.tables import AuditEntry
from gateleg.model import spec_of
from gateleg.objects import DirectoryObjects
from tests.web.console.conftest import Served
from tests.web.console.faults import cut_off_without_a_hint, serious_faults
from tests.web.console.objects.pictures import png
from tests.web.console.questions import asked_of
from tests.web.console.tables.library import Book, Cover, Loan, books, library, loans

pytestmark = pytest.mark.browser
Open = Callable[..., Page]


def address_of(instance: Book | Loan, **more: str) -> str:
    """The page of an item."""
    return item_address(library.name, key_text(library, spec_of(type(instance)).encode(instance)), **more)


def test_tables_are_listed_searched_and_opened(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables")
    expect(page.get_by_role("link", name="Library", exact=True)).to_be_visible()
    expect(page.get_by_role("searchbox")).to_have_count(1)
    page.get_by_label("Search tables").fill("reader")
    expect(page.get_by_role("link", name="Readers")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?q=reader$"))
    page.reload()
    page.get_by_role("link", name="Readers").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Readers")


def test_a_pattern_is_run_from_its_card_and_its_address_holds_the_question(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables/Library")
    page.get_by_role("link", name=re.compile("Books in a status")).click()
    page.get_by_label(re.compile("^status")).select_option("lent")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="3 items")).to_be_visible()
    expect(page.get_by_role("link", name="Invisible Cities")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["a.status"] == ["lent"]
    page.get_by_text("The request").click()
    expect(page.locator("pre", has_text="KeyConditionExpression")).to_be_visible()
    page.get_by_text("As Python").click()
    expect(page.locator("pre", has_text="store.query(Book.on_shelf")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Query plan")).to_be_visible()


def test_a_wrong_argument_is_told_at_its_field(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables/Library?tab=patterns&pattern=Loan.of_book")
    page.get_by_label("book_id").fill("seven")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("book_id")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_contain_text("UUID")


def test_items_are_browsed_and_one_is_edited(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables/Library?tab=items&entity=Book")
    page.get_by_role("link", name="Solaris").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Solaris")
    page.get_by_label(re.compile("^shelf ")).fill("nowhere")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("pattern")
    page.get_by_label(re.compile("^shelf ")).fill("B9")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("B9#Solaris")).to_be_visible()
    with library_host.store() as store:
        stored = store.get(Book, book_id=books()[4].book_id)
        noted = list(store.query(AuditEntry.by_actor, actor="local"))
    assert stored.shelf == "B9"
    assert ("item.change", ["shelf"]) in [(entry.action, entry.details.get("attributes")) for entry in noted]


@pytest.mark.parametrize("instance", [books()[5], loans()[0]], ids=["versioned", "unversioned"])
def test_a_lost_race_shows_both_sides_and_lets_one_be_chosen(library_host: Served, open_page: Open, instance: Book | Loan) -> None:
    page = open_page(library_host.url + address_of(instance))
    label = "author" if isinstance(instance, Book) else "note"
    field = page.get_by_label(re.compile(f"^{label} "))
    expect(field).to_be_visible()
    with library_host.store() as store:
        current = store.get(instance.key)
        if isinstance(current, Book):
            store.patch(current, Book.price.set(99.0))
        elif isinstance(current, Loan):
            store.patch(current, Loan.reader.set("hedy"))
    field.fill("Mine")
    page.get_by_role("button", name="Save").click()
    race = page.locator(".race")
    expect(race).to_contain_text("The item was changed after you opened it")
    expect(race).to_contain_text("Mine")
    expect(race).to_contain_text("99" if isinstance(instance, Book) else "hedy")
    with library_host.store() as store:
        assert getattr(store.get(instance.key), label) != "Mine"
    race.get_by_role("button", name="Overwrite with my changes").click()
    expect(race).to_have_count(0)
    with library_host.store() as store:
        won = store.get(instance.key)
    assert getattr(won, label) == "Mine"
    assert won.price == 99.0 if isinstance(won, Book) else isinstance(won, Loan) and won.reader == "hedy"


def test_an_item_is_changed_as_json_and_keeps_what_nobody_knows(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + address_of(books()[6], form="json"))
    box = page.get_by_role("textbox", name="The item")
    text = box.input_value()
    box.fill(text.replace('"Pale Fire"', '"Paler Fire"', 1).replace("{", '{"donor": {"S": "Ada"},', 1))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Paler Fire")
    page.get_by_role("link", name="Fields").click()
    expect(page.get_by_role("region", name="Not declared")).to_contain_text("Ada")


def test_an_item_is_duplicated_and_deleted(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + address_of(books()[8]))
    page.get_by_role("link", name="Duplicate").click()
    page.get_by_label(re.compile("^title ")).fill("Ficciones, a copy")
    page.get_by_role("button", name="Create Book").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ficciones, a copy")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("will be deleted")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("tab=items"))
    with library_host.store() as store:
        titles = [book.title for book in store.export(Book)]
    assert "Ficciones, a copy" not in titles
    assert "Ficciones" in titles


def test_rows_are_walked_with_the_keyboard(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables/Library?tab=items&entity=Loan")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("tbody tr").nth(1)).to_have_class(re.compile("at"))
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/item"))


def sign_in(page: Page, host: Served, role: str, path: str) -> None:
    """Sign in with the key of a role, and go on to a page."""
    page.get_by_label("key", exact=False).fill(host.tokens[role])
    page.get_by_role("button", name=re.compile("sign in", re.IGNORECASE)).click()
    page.wait_for_url(lambda url: "/signin" not in url)
    page.goto(host.url + path)


def test_a_viewer_sees_items_and_cannot_change_them(guarded_host: Served, open_page: Open) -> None:
    page = open_page(guarded_host.url + "/tables")
    sign_in(page, guarded_host, "viewer", address_of(books()[0]))
    expect(page.get_by_label(re.compile("^title "))).to_be_disabled()
    for name in ("Save", "Delete", "Duplicate"):
        expect(page.get_by_text(name, exact=True)).to_have_count(0)
    page.goto(guarded_host.url + "/tables/Library/new?entity=Book")
    expect(page.get_by_text("needs the role operator")).to_be_visible()
    page.goto(guarded_host.url + "/tables/GatelegAccess?tab=items")
    expect(page.get_by_text("only an admin may see its items")).to_be_visible()


PATHS = (
    "/tables",
    "/tables/Library",
    "/tables/Library?tab=patterns&pattern=Book.on_shelf&a.status=shelved",
    "/tables/Library?tab=patterns&pattern=Loan.of_book&a.book_id=x",
    "/tables/Library?tab=items",
    "/tables/Library?tab=schema",
    "/tables/Library?tab=health",
    "/tables/Library?tab=capacity",
    address_of(books()[0]),
    address_of(books()[0], form="json"),
    "/tables/Library/new?entity=Book",
)


def test_axe_finds_nothing_serious(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables")
    found = {}
    for path in PATHS:
        page.goto(library_host.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if faults := serious_faults(page):
            found[path] = faults
    assert found == {}


@pytest.mark.sweep
def test_axe_finds_enough_contrast_in_the_dark(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables", dark=True)
    found = {}
    for path in (PATHS[1], PATHS[2], PATHS[4], PATHS[8]):
        page.goto(library_host.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if faults := serious_faults(page, only="color-contrast"):
            found[path] = faults
    assert found == {}


def test_pages_fit_a_phone(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables", width=390, height=844)
    for path in ("/tables", "/tables/Library", "/tables/Library?tab=items", "/tables/Library?tab=capacity", address_of(books()[0])):
        page.goto(library_host.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_a_diagram_that_is_wider_than_a_phone_has_a_shade_at_its_edge(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + "/tables/Library", width=390)
    diagram = page.locator(".drawing > div").first
    expect(diagram).to_be_visible()
    assert diagram.evaluate("one => one.scrollWidth > one.clientWidth")
    assert cut_off_without_a_hint(page) == []


def test_an_item_that_was_typed_into_is_not_left_by_accident(library_host: Served, open_page: Open) -> None:
    page = open_page(library_host.url + address_of(books()[9]))
    asked = asked_of(page)
    page.get_by_label(re.compile("^author ")).click()
    page.keyboard.type("Mine")
    with page.expect_event("dialog"):
        page.get_by_role("link", name="DynamoDB JSON").click(no_wait_after=True)
    expect(page.get_by_label(re.compile("^author "))).to_have_value(re.compile("Mine"))
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label(re.compile("^author "))).not_to_have_value(re.compile("Mine"))
    assert asked == ["beforeunload"]


def test_a_complete_list_is_sorted_and_filtered_in_place(library_host: Served, open_page: Open) -> None:
    page = open_page(f"{library_host.url}/tables/Library?tab=items&entity=Book")
    titles = page.locator("td.lead")
    expect(titles).to_have_count(12)
    page.get_by_role("columnheader", name="year").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="year")).to_have_attribute("aria-sort", "ascending")
    expect(titles.first).to_have_text("Orlando")
    page.get_by_role("columnheader", name="year").get_by_role("button").click()
    expect(titles.first).to_have_text("Beloved")
    page.get_by_label("Filter Items of Library").fill("guin dispossessed")
    expect(titles).to_have_text(["The Dispossessed"])
    expect(page.get_by_text("1 of 12")).to_be_visible()
    select = page.get_by_role("checkbox", name="Select item pk=BOOK#")
    expect(select).to_have_attribute("aria-label", re.compile(r"^Select item pk=BOOK#[0-9a-f-]{36}, sk=BOOK$"))


def test_what_an_item_refers_to_is_a_link(library_host: Served, open_page: Open) -> None:
    page = open_page(f"{library_host.url}/tables/Library?tab=items&entity=Loan")
    page.locator("tbody tr").first.get_by_role("link", name="Book").click()
    expect(page.get_by_label("title")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/tables/Library/item\?key="))


def test_a_picture_that_an_item_refers_to_is_shown(library_host: Served, open_page: Open) -> None:
    DirectoryObjects(library_host.folder / "objects").put("covers/kindred.png", png(), content_type="image/png")
    ref = Book.key(book_id=books()[6].book_id)
    with library_host.store() as store:
        before = store.get(ref).cover
        store.patch(ref, Book.cover.set(Cover(colour="red", picture="covers/kindred.png")), check_version=False)
        page = open_page(library_host.url + address_of(store.get(ref)))
        expect(page.get_by_role("link", name="covers/kindred.png")).to_be_visible()
        page.wait_for_function("document.querySelector('.object-picture')?.naturalWidth === 64")
        store.patch(ref, Book.cover.set(before), check_version=False)


def test_access_patterns_stand_above_the_fold(library_host: Served, open_page: Open) -> None:
    page = open_page(f"{library_host.url}/tables/Library", height=700)
    expect(page.get_by_role("heading", name="Access patterns")).to_be_in_viewport()
    expect(page.get_by_role("link", name="The loans of a book, oldest first")).to_be_in_viewport(ratio=1)

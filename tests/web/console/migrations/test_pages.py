"""Who may see the pages about migrations, and what is on them; of a real host."""

from collections.abc import Iterator

import httpx
import pytest

from gateleg.migrate import Migrator, Phase, load_migrations
from gateleg.migrate.moves.tables import MigrationRecord
from gateleg.store import Store
from tests.web.console.conftest import Served, serving
from tests.web.console.migrations.shop import fill
from tests.web.console.sockets import Built, opened

PATHS = ("/migrations", "/migrations/shop/1", "/migrations/shop/2", "/migrations/shop/2/orders/pilot")


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host with keys and no worker, whose orders are being moved."""
    folder = tmp_path_factory.mktemp("shop")
    with Store.connect(f"embedded:{folder}?durability=relaxed") as store:
        fill(store, 8)
        shop = Migrator(store, "shop", load_migrations("tests.web.console.migrations.shop_migrations"), by="ann")
        shop.apply(until=Phase.DUAL_WRITE)
    with serving(folder, "--keys", "--idle", "--application", "tests.web.console.migrations.shop:shop") as served:
        yield served


def asked(served: Served, path: str, role: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {served.tokens[role]}", "accept": "text/html"}
    return httpx.get(f"{served.url}{path}", headers=headers, timeout=60)


def built_with(served: Served, button: str) -> Built:
    """The page of the migration, once it has a button: open pages are told of a change within a second."""
    while True:
        page = Built(served.url, "/migrations/shop/2", served.tokens["operator"])
        if any(element.get("text") == button for element in page.elements.values()):
            return page


@pytest.mark.parametrize("path", PATHS)
def test_members_do_not_see_migrations_and_only_operators_change_them(keyed: Served, path: str) -> None:
    answers = {role: asked(keyed, path, role) for role in ("member", "viewer", "operator", "admin")}
    assert {role: answer.status_code for role, answer in answers.items()} == {"member": 403, "viewer": 200, "operator": 200, "admin": 200}
    available_actions = {role: "Roll back" in answer.text for role, answer in answers.items()}
    changes = path != "/migrations" and "/shop/1" not in path
    assert available_actions == {"member": False, "viewer": False, "operator": changes, "admin": changes}


def test_the_list_has_all_migrations_and_the_drift(keyed: Served) -> None:
    wanted = {"0001 customers-by-city", "0002 orders-by-customer", "dual-write", "declared tables match their deployed tables"}
    # What takes longer than a moment to read comes after the page.
    assert any(all(words in asked(keyed, "/migrations", "viewer").text for words in wanted) for _ in range(100))


def test_a_migration_shows_its_stages_its_parts_and_its_events(keyed: Served) -> None:
    text = asked(keyed, "/migrations/shop/2", "viewer").text
    for words in ("Stage pilot", "Takes the partition berlin.", "Every write goes to both items", "OldLine → OrderLine", "by ann"):
        assert words in text
    assert "Rewrites the stored items of Customer" in asked(keyed, "/migrations/shop/1", "viewer").text


@pytest.mark.parametrize("path", ["/migrations/shop/9", "/migrations/nobody/1", "/migrations/shop/2/orders/nobody"])
def test_what_does_not_exist_is_not_found(keyed: Served, path: str) -> None:
    answer = asked(keyed, path, "viewer")
    assert (answer.status_code, "No such migration" in answer.text) == (404, True)


def test_an_operator_pauses_and_resumes(keyed: Served) -> None:
    with keyed.store() as store:
        key = MigrationRecord.key(application="shop", number=2)
        for button, paused in (("Pause", True), ("Resume", False)):
            page = built_with(keyed, button)
            with opened(page) as socket:
                socket.send("event", page.press(button))
                while store.get(key).paused is not paused:
                    socket.send("ack", {"client_id": page.id, "next_message_id": 0})

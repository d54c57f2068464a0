"""The fixes of errors: they fit what happened, and name what the user has."""

import ast
import importlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import gateleg
from gateleg.model import Attr, Entity, Key, Pattern, Table, spec_of
from gateleg.model.errors import ExpressionError, NotAQuery
from gateleg.model.tables import GSI
from gateleg.store import AlreadyExists, AsyncStore, Store, TableMissing, TransactionCanceled, create
from gateleg.store.errors import KeyGivenTwice, KeyTooLong, NotBatchable, NotDynamoDB, StoreClosed
from tests.store.counting import Shelf, Volume, shelves
from tests.store.notes import Draft, Note, Title, shelf, titles

SOURCE = Path(gateleg.__file__).parent
ROOMS = ("model", "store", "jobs", "objects", "ai", "apps.delphi")


def _without_advice() -> dict[str, set[str]]:
    """By room, the error classes without a fix: code that raises them must pass one."""
    found: dict[str, set[str]] = {}
    for room in ROOMS:
        module = importlib.import_module(f"gateleg.{room}.errors")
        found[room] = {name for name, kind in vars(module).items() if isinstance(kind, type) and getattr(kind, "fix", None) == ""}
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_every_raised_error_has_a_fix(room: str) -> None:
    names = _without_advice()["model"] | _without_advice()[room]
    bare = [
        f"{file.name}:{node.lineno} {node.func.id}"
        for file in (SOURCE / room.replace(".", "/")).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
        if not any(keyword.arg == "fix" for keyword in node.keywords)
    ]
    assert bare == []


def test_put_over_an_item_that_was_not_read_does_not_advise_put(store: Store) -> None:
    store.create_tables(shelf)
    store.create(Draft(book="b", title="t"))
    with pytest.raises(AlreadyExists, match="never read: get the item") as caught:
        store.put(Draft(book="b", title="t"))
    assert "with put or upsert" not in str(caught.value)


async def test_closed_store_raises_an_error(tmp_path: Path) -> None:
    for path in (":memory:", str(tmp_path)):
        store = Store.embedded(path)
        store.create_tables(shelf)
        store.close()
        with pytest.raises(StoreClosed, match="the store is closed"):
            store.get(Note, book="b", number=1)
        with pytest.raises(StoreClosed):
            store.put(Note(book="b", number=1))
        later = AsyncStore.embedded(path)
        await later.create_tables(*([] if path != ":memory:" else [shelf]))
        await later.close()
        with pytest.raises(StoreClosed):
            await later.find(Note, book="b", number=1)
        with pytest.raises(StoreClosed):
            await later.put(Note(book="b", number=1))


def test_missing_index_is_named_with_the_command_that_creates_it(store: Store) -> None:
    store.create_tables(Table("Plain", hash="id"))

    class Thing(Entity, table=Table("Plain", hash="id", indexes=[GSI("by-kind", hash="kind")])):
        id: Attr[str]
        kind: Attr[str]
        key = Key("{id}")
        of_kind = Pattern("by-kind", title="Things of a kind")

    with pytest.raises(TableMissing, match=r"index.*by-kind.*gateleg tables apply"):
        list(store.query(Thing.of_kind, kind="x"))


def test_batch_of_versioned_items_is_a_clear_error(memory: Store) -> None:
    memory.create_tables(shelf, titles)
    draft = Draft(book="b", title="t")
    for puts, deletes in (([draft], []), ([], [draft])):
        with pytest.raises(NotBatchable, match=r"Draft has a version \(version\).*check_version=False"):
            memory.batch_write(puts, deletes=deletes)
    assert memory.batch_write([draft], check_version=False) == 1
    with pytest.raises(NotBatchable, match="Title has unique constraints or counters"):
        memory.batch_write(deletes=[Title(id="1", title="x")])


def test_long_key_is_too_long_wherever_it_is_written(store: Store, request: pytest.FixtureRequest) -> None:
    store.create_tables(shelves)
    with pytest.raises(KeyTooLong):
        store.create(Shelf(shelf="x" * 3000))
    with pytest.raises(KeyTooLong):
        store.create(Volume(shelf="x" * 3000, number=1))
    mixed = [create(Volume(shelf="x" * 3000, number=1)), create(Shelf(shelf="a"))]
    if "moto" in request.node.name:
        # DynamoDB cancels the transaction; moto refuses the request as a whole.
        with pytest.raises(KeyTooLong):
            store.transact(mixed)
        return
    with pytest.raises(TransactionCanceled) as caught:
        store.transact(mixed)
    assert isinstance(caught.value.reasons[0], KeyTooLong)


def test_attribute_of_another_entity_is_an_error_that_lists_the_right_ones(memory: Store) -> None:
    memory.create_tables(shelf, titles)
    with pytest.raises(ExpressionError, match=r"Title\.title is not an attribute of Note.*Use the attributes of Note: book, number"):
        memory.patch(Note.key(book="b", number=1), Title.title.set("x"))  # type: ignore[misc]
    assert spec_of(Note).name == "Note"


class _Elsewhere(BaseHTTPRequestHandler):
    """A server that is not DynamoDB."""

    answers: ClassVar[list[tuple[int, bytes]]] = [(405, b"<html>"), (404, b'{"message": "Not Found"}')]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, body = self.answers[int(self.path.strip("/") or 0)]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Elsewhere)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("path", "status"), [("/0", 405), ("/1", 404)])
async def test_address_of_another_server_is_a_clear_error(elsewhere: str, path: str, status: int) -> None:
    text = rf"{elsewhere}{path} does not speak the DynamoDB protocol: .*status {status}.*not that of the console"
    with Store.connect(elsewhere + path) as store, pytest.raises(NotDynamoDB, match=text):
        store.get(Note, book="b", number=1)
    async with AsyncStore.connect(elsewhere + path) as later:
        with pytest.raises(NotDynamoDB, match=text):
            await later.get(Note, book="b", number=1)


def test_an_attribute_as_keyword_of_a_patch_is_an_error_with_the_right_action(memory: Store) -> None:
    memory.create_tables(shelf)
    note = memory.create(Note(book="b", number=1))
    with pytest.raises(
        KeyGivenTwice, match=r"text= cannot be passed together with an instance of Note.*the action Note\.text\.set\(value\)"
    ):
        memory.patch(note, text="new")  # type: ignore[call-overload]
    with pytest.raises(KeyGivenTwice, match=r"book= cannot be passed together with a reference.*Remove them"):
        memory.get(Note.key(book="b", number=1), book="b")  # type: ignore[call-overload]


def test_a_query_of_an_entity_names_its_patterns(memory: Store) -> None:
    with pytest.raises(NotAQuery, match=r"Note is an entity, not .*Query one of its patterns: Note\.in_book, Note\.on_topic"):
        list(memory.query(Note, book="b"))  # type: ignore[call-overload]
    with pytest.raises(NotAQuery, match=r"Declare an access pattern in Draft\."):
        list(memory.query(Draft, book="b"))  # type: ignore[call-overload]


def test_a_misspelled_pattern_is_an_error_with_the_closest_match() -> None:
    with pytest.raises(AttributeError, match=r"Note has no attribute 'on_topik'\. Did you mean 'on_topic'\?"):
        _ = Note.on_topik  # type: ignore[attr-defined]


def test_missing_tables_of_a_transaction_and_a_batch_are_named(memory: Store) -> None:
    with pytest.raises(TableMissing, match="TransactWriteItems on Notes, Titles: "):
        memory.transact([create(Note(book="b", number=1)), create(Title(id="1"))])
    with pytest.raises(TableMissing, match="BatchWriteItem on Notes: "):
        memory.batch_write([Note(book="b", number=1)])

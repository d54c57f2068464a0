"""Scopes, cursors, retries after conflicts, and deployed table names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.model import Attr, Entity, Key, Pattern, Table
from gateleg.model.errors import MissingComponent
from gateleg.net import Backoff
from gateleg.store import AsyncStore, CursorRejected, OutOfScope, Store, create
from gateleg.store.flow import Request
from gateleg.store.operations import get, query
from gateleg.store.setup import Position, Signer, is_transient, request_digest, retry_conflicts, table_names_in
from gateleg.store.transports import ServiceError
from tests.model.seeds.mv import Project, Scene, project_with_scenes, projects
from tests.store.doubles import play, quiet_setup, refusal
from tests.store.notes import Draft, Note, Title, notes, shelf, titles


@pytest.fixture
def filled(memory: Store) -> Store:
    memory.create_tables(shelf, titles, projects)
    memory.batch_write([*notes(3, "mine"), *notes(3, "theirs")])
    return memory


def test_a_scope_of_components_works_like_a_scope_of_a_key_part(filled: Store) -> None:
    mine = filled.scope(book="mine")
    assert mine.get(Note, number=1).book == "mine"
    assert mine.count(Note.in_book) == 3
    assert mine.ref(Note, number=1) == Note.key(book="mine", number=1)
    assert mine.delete_all(Note.in_book) == 3
    assert filled.count(Note.in_book, book="theirs") == 3


def test_collections_are_restricted(filled: Store) -> None:
    project = filled.create(Project(concept_prompt="p", character_description="c"))
    mine = filled.scope(project_id=project.project_id)
    mine.create(Scene(project_id=project.project_id, sequence=1, prompt="p", duration=1))
    assert len(mine.collect(project_with_scenes).of(Scene)) == 1


def test_entity_without_the_components_is_out_of_scope(filled: Store) -> None:
    mine = filled.scope(book="mine")
    with pytest.raises(OutOfScope, match="Titles"):
        mine.create(Title(id="1"))
    with pytest.raises(OutOfScope):
        mine.find(Title, id="1")


def test_index_with_another_hash_is_out_of_scope(filled: Store) -> None:
    with pytest.raises(OutOfScope, match="by-topic"):
        filled.scope(book="mine").query(Note.on_topic, topic="none")


def test_operations_built_elsewhere_are_checked(filled: Store) -> None:
    mine = filled.scope(book="mine")
    with pytest.raises(OutOfScope):
        mine.run(get(Note, book="theirs", number=1))
    with pytest.raises(OutOfScope):
        mine.stream(query(Note.in_book(book="theirs")))
    with pytest.raises(OutOfScope):
        mine.transact([create(Draft(book="mine", title="t")), create(Draft(book="theirs", title="t"))])
    with pytest.raises(OutOfScope), mine.transaction() as tx:
        tx.add(create(Draft(book="theirs", title="t")))


def test_changes_and_saves_are_checked(filled: Store) -> None:
    mine = filled.scope(book="mine")
    theirs = filled.get(Note, book="theirs", number=1)
    with pytest.raises(OutOfScope):
        mine.retrying(theirs, lambda note: [Note.stars.add(1)])
    with pytest.raises(OutOfScope):
        mine.save(theirs, before=theirs)
    with pytest.raises(OutOfScope):
        mine.batch_write([theirs])


def test_a_misspelt_component_of_a_scope_is_in_the_message(filled: Store) -> None:
    with pytest.raises(MissingComponent, match=r"needs book\. The scope gives bok\."):
        filled.scope(bok="mine").get(Note, number=1)


def test_empty_scope_is_refused(filled: Store) -> None:
    with pytest.raises(OutOfScope, match="binds nothing"):
        filled.scope()


def test_scope_keeps_the_rest_of_the_setup(memory: Store) -> None:
    store = Store(memory.transport, "dev-", backoff=Backoff(tries=1)).within(3).scope(book="b")
    assert (store.setup.prefix, store.setup.backoff.tries, store.setup.timeout) == ("dev-", 1, 3)


def test_cursor_of_one_scope_is_invalid_in_another(filled: Store) -> None:
    from gateleg.store import CursorRejected

    first = filled.scope(book="mine").page(Note.in_book, limit=1)
    with pytest.raises(CursorRejected):
        filled.scope(book="theirs").page(Note.in_book, limit=1, cursor=first.next)


SIGNER = Signer(b"secret")
keys = st.none() | st.dictionaries(st.text(), st.fixed_dictionaries({"S": st.text()}), max_size=4)
positions = st.builds(Position, st.lists(keys, min_size=1, max_size=4).map(tuple), st.booleans())


@given(position=positions, question=st.binary())
def test_opening_a_cursor_returns_its_position(position: Position, question: bytes) -> None:
    assert SIGNER.open(SIGNER.seal(position, question), question) == position


@given(position=positions, question=st.binary(), other=st.binary())
def test_cursor_of_another_query_is_rejected(position: Position, question: bytes, other: bytes) -> None:
    if question != other:
        with pytest.raises(CursorRejected):
            SIGNER.open(SIGNER.seal(position, question), other)


@given(text=st.text())
def test_text_that_is_not_a_cursor_is_rejected(text: str) -> None:
    with pytest.raises(CursorRejected):
        SIGNER.open(text, b"q")


@given(position=positions, at=st.integers(0), bit=st.integers(1, 255))
def test_tampered_cursor_is_rejected(position: Position, at: int, bit: int) -> None:
    sealed = bytearray(SIGNER.seal(position, b"q").encode())
    sealed[at % len(sealed)] ^= bit
    try:
        changed = sealed.decode()
    except UnicodeDecodeError:
        return
    try:
        opened = SIGNER.open(changed, b"q")
    except CursorRejected:
        return
    # The last character of base64 has bits that mean nothing.
    assert opened == position


def test_cursor_of_another_key_is_rejected() -> None:
    with pytest.raises(CursorRejected):
        Signer(b"other").open(SIGNER.seal(Position((None,)), b"q"), b"q")


def test_stores_without_a_key_do_not_share_cursors() -> None:
    assert Signer().key != Signer().key


def test_key_is_not_shown() -> None:
    assert "secret" not in repr(SIGNER)


def test_digest_depends_on_the_request_and_not_on_the_order_of_members() -> None:
    assert request_digest([{"a": 1, "b": 2}]) == request_digest([{"b": 2, "a": 1}])
    assert request_digest([{"a": 1}]) != request_digest([{"a": 2}])


def test_conflict_is_retried_with_the_same_request() -> None:
    request = Request("PutItem", {"TableName": "t"})
    played = play(retry_conflicts(request, quiet_setup()), [refusal("TransactionConflictException"), {"done": True}])
    assert played.result == {"done": True}
    assert [each.payload for each in played.requests] == [request.payload] * 2
    assert len(played.pauses) == 1
    assert request.retries == 1


def test_permanent_error_is_not_retried() -> None:
    with pytest.raises(ServiceError):
        play(retry_conflicts(Request("PutItem", {}), quiet_setup()), [refusal("ValidationException")])


def test_endless_conflicts_are_an_error() -> None:
    asked: list[Request] = []

    def conflict(request: Request) -> ServiceError:
        asked.append(request)
        return refusal("TransactionConflictException")

    with pytest.raises(ServiceError):
        play(retry_conflicts(Request("PutItem", {}), quiet_setup(backoff=Backoff(tries=3))), conflict)
    assert len(asked) == 4


def test_canceled_transaction_is_transient_only_if_no_reason_depends_on_data() -> None:
    def canceled(*codes: str) -> ServiceError:
        return refusal("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])

    assert is_transient(canceled("None", "TransactionConflict", "ThrottlingError"))
    assert not is_transient(canceled("TransactionConflict", "ConditionalCheckFailed"))
    assert not is_transient(canceled("None"))


songs = Table("Songs", hash="pk", range="sk")
albums = Table("Albums", hash="pk")


class Song(Entity, table=songs):
    album: Attr[str]
    number: Attr[int]

    key = Key("ALBUM#{album}", "SONG#{number:03d}")
    of_album = Pattern(title="The songs of an album")


class Album(Entity, table=albums):
    name: Attr[str]

    key = Key("ALBUM#{name}")


NAMES = {"Songs": "prod-eu.songs"}


def test_every_method_uses_the_configured_name() -> None:
    with Store.embedded(prefix="dev-", table_names=NAMES) as store:
        assert store.ensure_tables(songs, albums) == ["prod-eu.songs", "dev-Albums"]
        assert store.ensure_tables(songs, albums) == []
        one = store.create(Song(album="A", number=1))
        store.create(Album(name="A"))
        assert store.get(Song, album="A", number=1) == one
        assert list(store.query(Song.of_album, album="A")) == [one]
        assert store.batch_get([Song.key(album="A", number=1)]) == [one]
        assert store.transport.call("ListTables", {})["TableNames"] == ["dev-Albums", "prod-eu.songs"]
        assert [store.transport.call("Scan", {"TableName": name})["Count"] for name in ("prod-eu.songs", "dev-Albums")] == [1, 1]


async def test_an_async_store_takes_names_too() -> None:
    async with AsyncStore.embedded(table_names=NAMES) as store:
        assert await store.ensure_tables(songs) == ["prod-eu.songs"]


def test_names_are_written_in_one_line() -> None:
    assert table_names_in(" Songs = prod-songs , Albums=x") == {"Songs": "prod-songs", "Albums": "x"}
    assert table_names_in("") == {}
    with pytest.raises(ValueError, match="'Songs' has no name"):
        table_names_in("Songs")

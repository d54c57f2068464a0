"""Scopes: what they restrict, and what they refuse."""

import pytest

from gateleg.model.errors import MissingComponent
from gateleg.net import Backoff
from gateleg.store import OutOfScope, Store, create
from gateleg.store.operations import get, query
from tests.model.seeds.mv import Project, Scene, project_with_scenes, projects
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

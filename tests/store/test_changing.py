"""`retrying`, `save` and `edit`: changes that depend on the stored item."""

from collections.abc import Sequence

import pytest

from gateleg.model import UpdateAction
from gateleg.net import Backoff
from gateleg.store import LostRace, NotFound, Store
from tests.store.doubles import Scripted
from tests.store.notes import Draft, Note, shelf


@pytest.fixture
def store(memory: Store) -> Store:
    memory.create_tables(shelf)
    return memory


def test_decision_is_repeated_on_the_new_item(store: Store) -> None:
    stale = store.create(Draft(book="b", title="t", text="a"))
    store.patch(stale, Draft.text.set("ab"))
    seen: list[str] = []

    def append(draft: Draft) -> Sequence[UpdateAction]:
        seen.append(draft.text)
        return [Draft.text.set(draft.text + "!")]

    assert store.retrying(stale, append).text == "ab!"
    assert seen == ["a", "ab"]


def test_decision_by_reference_reads_first(store: Store) -> None:
    draft = store.create(Draft(book="b", title="t", text="a"))
    assert store.retrying(draft.key, lambda found: [Draft.text.set(found.text * 2)]).text == "aa"


def test_no_actions_leave_the_item_unchanged(store: Store) -> None:
    draft = store.create(Draft(book="b", title="t"))
    assert store.retrying(draft.key, lambda found: []) == draft


def test_retrying_a_missing_item_is_an_error(store: Store) -> None:
    with pytest.raises(NotFound):
        store.retrying(Draft.key(book="b", title="t"), lambda found: [])


def test_repeated_lost_races_are_an_error(store: Store) -> None:
    draft = store.create(Draft(book="b", title="t"))
    patient = Store(store.transport, backoff=Backoff(tries=3), sleep=lambda seconds: None)
    tried: list[int] = []

    def slow(found: Draft) -> Sequence[UpdateAction]:
        tried.append(found.version)
        store.patch(found, Draft.text.set("faster"))
        return [Draft.text.set("slower")]

    with pytest.raises(LostRace):
        patient.retrying(draft, slow)
    assert tried == [1, 2, 3, 4]


def test_save_writes_only_changed_attributes() -> None:
    transport = Scripted({"Attributes": {"pk": {"S": "BOOK#b"}, "sk": {"S": "NOTE#00001"}, "book": {"S": "b"}, "number": {"N": "1"}}})
    note = Note(book="b", number=1, text="old")
    Store(transport).save(note.model_copy(update={"text": "new"}), before=note)
    (call,) = transport.calls
    assert call[1]["UpdateExpression"] == "SET #text = :0"


def test_save_without_changes_sends_nothing() -> None:
    note = Note(book="b", number=1)
    assert Store(Scripted()).save(note.model_copy(), before=note) is note


def test_edited_copy_is_saved_at_the_end_of_the_block(store: Store) -> None:
    draft = store.create(Draft(book="b", title="t"))
    with store.edit(draft) as copy:
        copy.text = "edited"
    assert draft.text == ""
    assert copy == store.get(draft)
    assert (copy.text, copy.version) == ("edited", 2)


def test_edited_copy_can_be_edited_again(store: Store) -> None:
    draft = store.create(Draft(book="b", title="t"))
    with store.edit(draft) as draft:
        draft.text = "once"
    with store.edit(draft) as draft:
        draft.text = "twice"
    with store.edit(draft) as same:
        pass
    assert same == draft == store.get(draft)
    assert (draft.text, draft.version) == ("twice", 3)


def test_edit_that_raises_saves_nothing(store: Store) -> None:
    draft = store.create(Draft(book="b", title="t"))

    def fail_inside() -> None:
        with store.edit(draft) as copy:
            copy.text = "edited"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_inside()
    assert store.get(draft) == draft


def test_edit_of_a_stale_instance_loses(store: Store) -> None:
    draft = store.create(Draft(book="b", title="t"))
    store.patch(draft, Draft.text.set("x"))

    def edit() -> None:
        with store.edit(draft) as copy:
            copy.text = "y"

    with pytest.raises(LostRace):
        edit()

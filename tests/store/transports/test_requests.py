"""The bodies of requests: text that JSON cannot represent, and items that are too large."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.model.errors import EncodeError
from gateleg.store import Store, patch
from gateleg.store.sizes import ITEM_LIMIT
from gateleg.store.transports import ServiceError
from gateleg.store.transports.messages import encode, unwritable
from tests.store.notes import Note, shelf, titles

BROKEN = "half \ud800"
REF = Note.key(book="b", number=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.put(Note(book="b", number=2, text=BROKEN)),
        lambda store: store.patch(REF, Note.text.set(BROKEN)),
        lambda store: store.patch(REF, Note.stars.add(1), condition=Note.text == BROKEN),
        lambda store: store.transact([patch(REF, Note.text.set(BROKEN))]),
        lambda store: store.batch_write([Note(book="b", number=2, text=BROKEN)]),
        lambda store: store.get(Note, book=BROKEN, number=1),
        lambda store: store.delete(Note, book=BROKEN, number=1),
        lambda store: list(store.query(Note.on_topic, topic=BROKEN)),
    ],
)
def test_invalid_text_is_an_error_of_the_model(store: Store, call: Callable[[Store], Any]) -> None:
    store.create_tables(shelf, titles)
    store.put(Note(book="b", number=1))
    with pytest.raises(EncodeError, match="Unicode"):
        call(store)


def test_the_error_contains_the_location_of_the_text() -> None:
    error = unwritable("UpdateItem", {"ExpressionAttributeValues": {":0": {"L": [{"S": "fine"}, {"S": BROKEN}]}}})
    assert error is not None
    assert "ExpressionAttributeValues.:0.L.1.S" in error.message


def test_an_invalid_name_is_found_but_not_shown() -> None:
    error = unwritable("PutItem", {"Item": {BROKEN: {"S": "x"}}})
    assert error is not None
    assert error.message.encode()


def test_values_that_are_not_json_are_a_type_error() -> None:
    with pytest.raises(TypeError):
        encode("PutItem", {"Item": object()})


def test_an_item_over_the_limit_is_refused_before_it_is_sent_to_a_service_that_may_not_have_the_limit() -> None:
    within, beyond = ({"TableName": "Notes", "Item": {"a": {"S": "x" * size}}} for size in (ITEM_LIMIT - 1, ITEM_LIMIT))
    assert encode("PutItem", within)
    with pytest.raises(ServiceError, match="Item size has exceeded the maximum allowed size"):
        encode("PutItem", beyond)

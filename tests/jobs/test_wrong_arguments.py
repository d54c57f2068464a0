"""A queue refuses a store or a registry of the wrong kind when it is created, not at the first job."""

from typing import Any

import pytest

from gateleg.jobs import AsyncQueue, Jobs, Queue
from gateleg.jobs.errors import WrongArgument
from gateleg.store import AsyncStore, Store


def connect(kind: Any) -> Any:
    return kind.connect("embedded::memory:")


@pytest.mark.parametrize(("queue", "store", "words"), [(Queue, AsyncStore, "Use AsyncQueue"), (AsyncQueue, Store, "Use Queue")])
def test_a_store_of_the_other_kind(queue: Any, store: Any, words: str) -> None:
    with pytest.raises(WrongArgument, match=words):
        queue(connect(store), Jobs())


def test_handlers_that_are_not_a_registry() -> None:
    handlers: Any = [print]
    with pytest.raises(WrongArgument, match="not a list"):
        Queue(connect(Store), handlers)

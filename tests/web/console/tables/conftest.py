"""A store with the library in it."""

from collections.abc import AsyncIterator

import pytest

from gateleg.store import AsyncStore
from tests.web.console.tables.library import Reader, books, library, loans, readers


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    """Twelve books, six loans and two readers."""
    async with AsyncStore.embedded(cursor_key=b"library") as made:
        await made.create_tables(library, readers)
        for book in books():
            await made.create(book)
        for loan in loans():
            await made.create(loan)
        await made.create(Reader(reader_id="ada", email="ada@example.org", name="Ada"))
        await made.create(Reader(reader_id="grace", email="grace@example.org", name="Grace"))
        yield made

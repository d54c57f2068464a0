"""The library of the console's tests, as a store."""

from tests.web.console.tables.conftest import store

__all__ = ["store"]

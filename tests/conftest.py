"""What all tests share: one Chromium for each process, since Playwright can be started once in it, and short garbage collections."""

import gc
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


# Collecting the tests imports everything, which makes a million objects that stay: looking through them again and again
# would take a third of the time of collection, and a second each time from then on.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was imported alone, and collect garbage among what tests make."""
    gc.collect()
    gc.freeze()
    gc.enable()


# Laws are tried on fifty examples, others each time; `make slow` tries more. How long one takes on a busy machine says nothing.
settings.register_profile("gateleg", max_examples=int(os.environ.get("GATELEG_TEST_LAWS", "50")), deadline=None)
settings.load_profile("gateleg")


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Undo what a command that ran in this process did to the logs: its handler writes to a stream that ends with the test."""
    root, ours = logging.getLogger(), logging.getLogger("gateleg")
    levels = root.level, ours.level
    before = set(root.handlers)
    yield
    for handler in set(root.handlers) - before:
        if type(handler) is logging.StreamHandler:
            root.removeHandler(handler)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def chromium() -> str | None:
    """Where the system's Chromium is, if it has one; `GATELEG_CHROMIUM` names another."""
    # Imported here: a run without the web's dependencies has no browser tests either.
    from gateleg.web.chromium import find_chromium

    return find_chromium()


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """The system's Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    found = chromium()
    if found is None:
        pytest.skip("there is no Chromium on this machine (apt install chromium, or name one in GATELEG_CHROMIUM)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_ARGUMENTS)
        yield browser
        browser.close()

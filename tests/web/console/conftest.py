"""A real host in a process of its own, and a real Chromium that looks at it. Without Chromium, tests that need it are skipped."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from gateleg.jobs import Queue
from gateleg.store import Store
from tests.web.console.sample import jobs

# A busy machine takes its time; what never comes is told after this.
expect.set_options(timeout=20_000)


@dataclass(frozen=True)
class Served:
    """A host that runs in another process on the embedded store in `folder`."""

    url: str
    folder: Path
    tokens: dict[str, str] = field(default_factory=dict)
    #: the token of the host itself, which is good while it has no keys
    token: str = ""

    def sign_in(self, context: BrowserContext) -> None:
        """Open the link that a host without keys prints."""
        assert context.request.get(f"{self.url}/signin?token={self.token}&next=/health").ok

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The host's store, opened beside it."""
        with Store.connect(f"embedded:{self.folder}") as store:
            yield store

    @contextmanager
    def queue(self) -> Iterator[Queue]:
        """The host's queue, opened beside it."""
        with self.store() as store:
            yield Queue(store, jobs)


#: Hosts without keys, by address: every page that is opened on them is signed in.
_KEYLESS: dict[str, Served] = {}


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Served]:
    """Run a host for the length of the block."""
    command = [sys.executable, "-m", "tests.web.console.serving", str(folder), *options]
    with (folder / "host.log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready = process.stdout.readline()
            assert ready, (folder / "host.log").read_text()
            told = json.loads(ready)
            served = Served(told["url"], folder, told["tokens"], told["token"])
            _KEYLESS.update({} if served.tokens else {served.url: served})
            yield served
        finally:
            process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host without keys that runs the sample's jobs."""
    with serving(tmp_path_factory.mktemp("host"), "--application", "tests.web.console.sample:reels") as served:
        yield served


def _is_complaint(message: ConsoleMessage) -> bool:
    """Whether a page complains of something; that it is not there itself, it says in its own words."""
    not_there = "status of 404" in message.text and message.page is not None and message.location["url"] == message.page.url
    return message.type == "error" and not not_there


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page in a fresh context: `open_page(served.url + "/jobs", width=390, dark=True)`. Errors in its console fail the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(url: str, *, width: int = 1440, height: int = 900, dark: bool = False, **options: Any) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", reduced_motion="reduce", **options
        )
        contexts.append(context)
        if served := _KEYLESS.get("/".join(url.split("/")[:3])):
            served.sign_in(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []

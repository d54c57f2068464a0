"""The time until a new user sees the first page of `gateleg up --demo`, in a Chromium with an empty cache.

python bench/first_page.py [STARTS]

Each start has its own data folder, and its own browser, which is already open. For each start, this prints the seconds from the command to
the line with the address; from that line to the response, to the figures on the page, and to a live page; and the seconds for the same page
again, with a warm cache.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from gateleg.host.credentials import token_from
from gateleg.host.host_secret import read_secret
from gateleg.web.chromium import find_chromium

COMMAND = [sys.executable, "-c", "from gateleg.cli import main; main()", "up", "--demo", "--no-browser", "--port", "0", "--drain", "0"]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
#: The four figures stand once the page is built; the mark is lit by the first message over the socket.
FIGURES = ".quarters .card"
CONNECTED = "() => window.socket && window.socket.connected"


@dataclass(frozen=True)
class Start:
    """The seconds of one start."""

    ready: float
    answered: float
    figures: float
    live: float
    again: float


@contextmanager
def host(folder: str) -> Iterator[tuple[str, float]]:
    """A host on a new folder: its address, and the seconds until it said so."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATELEG_")} | {"PYTHONUNBUFFERED": "1"}
    began = time.perf_counter()
    with (Path(folder) / "log.txt").open("w") as log:
        process = subprocess.Popen([*COMMAND, "--data", f"{folder}/data"], stdout=subprocess.PIPE, stderr=log, text=True, env=environ)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if " at http" not in line:
            raise SystemExit(f"the host did not start: {(Path(folder) / 'log.txt').read_text()}")
        yield line.rpartition(" ")[2].strip(), time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def measure(browser: Browser) -> Start:
    """One start and its first page."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    with tempfile.TemporaryDirectory() as folder, host(folder) as (url, ready):
        context.request.get(f"{url}/signin?token={token_from(read_secret(Path(folder) / 'data'))}&next=/health")
        printed = time.perf_counter()
        page.goto(url, wait_until="commit")
        answered = time.perf_counter() - printed
        page.wait_for_selector(FIGURES)
        figures = time.perf_counter() - printed
        page.wait_for_function(CONNECTED)
        live = time.perf_counter() - printed
        began = time.perf_counter()
        page.goto(url, wait_until="commit")
        page.wait_for_selector(FIGURES)
        again = time.perf_counter() - began
    context.close()
    return Start(ready, answered, figures, live, again)


def main() -> None:
    """Measure some starts and print them."""
    starts = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    found = find_chromium()
    if found is None:
        raise SystemExit("there is no Chromium here; name one in GATELEG_CHROMIUM")
    names = [one.name for one in fields(Start)]
    print(f"first page of `gateleg up --demo`, seconds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("  ".join(f"{name:>9}" for name in names), flush=True)
    results = []
    with sync_playwright() as playwright:
        for _ in range(starts):
            browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
            results.append(measure(browser))
            browser.close()
            print("  ".join(f"{getattr(results[-1], name):9.2f}" for name in names), flush=True)
    print("  ".join(f"{statistics.median(getattr(one, name) for one in results):9.2f}" for name in names), " median")


if __name__ == "__main__":
    main()

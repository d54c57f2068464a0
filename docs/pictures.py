"""Takes the pictures of the console anew, from a host that shows the demonstration: `gateleg up --demo`, some minutes after its start.

    python docs/pictures.py LINK [PICTURE...]          the link that `gateleg up` prints

Those of applications are taken by hand: they show what people have typed, and results of their own.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from gateleg.web.chromium import find_chromium

IMAGES = Path(__file__).parent / "images"
WIDE, PHONE = (1440, 900), (390, 844)
#: Milliseconds after which charts and live figures stand.
SETTLED = 4_000


def show_job(name: str) -> Callable[[Page], None]:
    """Open the newest job of a type, from the list of jobs."""
    return lambda page: page.get_by_role("link", name=name).first.click()


def run_pattern(page: Page) -> None:
    """Ask for the songs of an artist."""
    page.get_by_label(re.compile("^artist")).fill("Nina Simone")
    page.get_by_role("button", name="Run").click()


def lose_race(page: Page) -> None:
    """Change a song on two pages, and save the second last."""
    page.get_by_role("link", name="Sinnerman").first.click()
    change_song(page, seconds=622, year=1964, save=False)
    other = page.context.new_page()
    other.goto(page.url)
    change_song(other, seconds=630, year=1966, save=True)
    other.wait_for_timeout(SETTLED)
    page.get_by_role("button", name="Save").click()
    page.locator(".race").scroll_into_view_if_needed()


def change_song(page: Page, *, seconds: int, year: int, save: bool) -> None:
    """Fill in the form of a song."""
    page.get_by_label(re.compile("^seconds ")).fill(str(seconds))
    page.get_by_label(re.compile("^year ")).fill(str(year))
    if save:
        page.get_by_role("button", name="Save").click()


#: What each picture shows: its address, its size, whether it is dark, and what is done on the page before it is taken.
PICTURES: dict[str, tuple[str, tuple[int, int], bool, Callable[[Page], None] | None]] = {
    "console-overview": ("/", WIDE, False, None),
    "console-jobs": ("/jobs", WIDE, False, None),
    "console-tree": ("/jobs?type=demo.import", WIDE, False, show_job("demo.import")),
    "console-phone": ("/jobs", PHONE, False, None),
    "console-job-dark": ("/jobs?type=demo.fingerprint", WIDE, True, show_job("demo.fingerprint")),
    "console-table": ("/tables/JobQueue", WIDE, False, None),
    "console-pattern": ("/tables/Songs?tab=patterns&pattern=Song.of_artist", WIDE, False, run_pattern),
    "console-lost-race": ("/tables/Songs?tab=items", WIDE, False, lose_race),
}


def opened(browser: Browser, link: str, size: tuple[int, int], dark: bool) -> Page:
    """A page that is signed in."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(link)
    return page


def main(link: str, *names: str) -> None:
    """Take those that are named, or all of them."""
    place = urlsplit(link)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        for name in names or PICTURES:
            path, size, dark, prepare = PICTURES[name]
            page = opened(browser, link, size, dark)
            page.goto(f"{place.scheme}://{place.netloc}{path}")
            if prepare is not None:
                prepare(page)
            page.wait_for_timeout(SETTLED)
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

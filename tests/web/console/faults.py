"""Accessibility: what axe finds on a page that is serious."""

from axe_core_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page


def serious_faults(page: Page, only: str | None = None) -> list[str]:
    """The rules that a page breaks badly, each with the elements that do; all rules, or `only` one."""
    options = {"runOnly": [only]} if only else {"resultTypes": ["violations"]}
    found = Axe().run(page, options=options)["violations"]
    return [
        f"{fault['id']}: {fault['help']}: {', '.join(str(node['target']) for node in fault['nodes'][:5])}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]


def cut_off_without_a_hint(page: Page) -> list[str]:
    """The elements that scroll sideways and have no shade at their edges; code is left out."""
    return page.evaluate(  # type: ignore[no-any-return]
        """() => [...document.querySelectorAll("main *, header *")]
            .filter((one) => !one.closest("pre, code, textarea, .log") && one.offsetParent && one.scrollWidth > one.clientWidth + 1)
            .filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX))
            .filter((one) => !getComputedStyle(one).backgroundImage.includes("gradient"))
            .map((one) => `${one.tagName}.${one.className.baseVal ?? one.className}`)"""
    )

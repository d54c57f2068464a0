"""Tabs of a page: each has an address, and is shown in place."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateleg.web.console.markup import Tag, tag
from gateleg.web.console.paging import address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

_CLICK = """(event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  gateleg.place(event.currentTarget.href);
  emit();
}"""


class Tabs:
    """Tabs by key and title: `build` is called with the key of the selected tab, at first and on every change.

    The address of a tab is that of the page with `tab=key`; the first tab needs none. The browser's back button shows the previous tab.
    `keep` is the rest of the query.
    """

    def __init__(
        self,
        tabs: Sequence[tuple[str, str]],
        current: str | None,
        build: Callable[[str], Awaitable[None] | None],
        *,
        keep: Mapping[str, str] | None = None,
    ) -> None:
        keys = [key for key, _ in tabs]
        self.current = current if current in keys else keys[0]
        self._build = build
        self._links: dict[str, Tag] = {}
        with tag("nav", classes="tabs", aria_label="Tabs"):
            for key, title in tabs:
                here = "page" if key == self.current else None
                link = self._links[key] = tag("a", title, href=address("", {**(keep or {}), "tab": key}), aria_current=here)
                link.on("click", partial(self.show, key), js_handler=_CLICK)
        self.panel = tag("div", classes="stack gap-2")

    async def start(self) -> None:
        """Build the first tab."""
        await self._fill()

    async def show(self, key: str) -> None:
        """Show another tab."""
        self._links[self.current].props.pop("aria-current", None)
        self._links[self.current].update()
        self.current = key
        self._links[key].props["aria-current"] = "page"
        self.panel.clear()
        await self._fill()

    async def _fill(self) -> None:
        with self.panel:
            built = self._build(self.current)
            if built is not None:
                await built

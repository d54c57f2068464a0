"""The versions of an agent, a prompt or a flow on its page: newest first, each with what it changed, to be used or deleted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.tables import VersionStatus
from gateleg.apps.agents.versions import activate, differences, find_pointer, versions_of
from gateleg.apps.agents.web.line_diff import changed_lines
from gateleg.apps.agents.web.statuses import version_badge
from gateleg.web.console.components import ago, button, confirm, pager, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.agents.tables import ReferencedItem
    from gateleg.apps.agents.versions import VersionedKind
    from gateleg.apps.agents.web.page_context import Visit

_SIZE = 20
#: Texts that are longer, or have several lines, are compared line by line.
_SHORT = 120
_LONGEST = 2_000


@dataclass(frozen=True)
class VersionsPart:
    """The versions of one thing. `page` is the address of the page, with parameters; `delete` deletes a version by its id."""

    visit: Visit
    of: VersionedKind[Any]
    logical_uuid: str
    page: Callable[..., str]
    delete: Callable[[str], Awaitable[Any]]

    async def show(self, cursor: str = "", newer: int = 0) -> None:
        """A page of versions; `newer` is how many come before it."""
        store, context = self.visit.resources.store, self.visit.context
        question = versions_of(context, self.of, self.logical_uuid).reversed()
        page = await store.page(question, limit=_SIZE, cursor=cursor or None, consistent=True)
        # The last one of a page is compared with the first one of the next.
        rest = [] if page.next is None else (await store.page(question, limit=1, cursor=page.next, consistent=True)).items
        pointer = await find_pointer(store, context, self.of, self.logical_uuid)
        total = max(len(page.items) + newer, 0 if pointer is None else pointer.version_count)
        older: list[Any] = [*page.items[1:], *(rest or [None])]
        for place, (one, before) in enumerate(zip(page.items, older, strict=True)):
            self._version(one, before, total - newer - place)
        state = {"tab": "versions", "newer": "" if page.next is None else str(newer + len(page.items))}
        pager(self.page(), state, cursor=cursor or None, following=page.next, shown=len(page.items))

    def _version(self, one: ReferencedItem, before: ReferencedItem | None, number: int) -> None:
        with tag("article", classes="card stack gap-1", aria_label=f"Version {number}"):
            with tag("div", classes="line gap-1 spread"):
                with tag("p", classes="line gap-1 meta"):
                    tag("span", f"Version {number}", "strong")
                    version_badge(one.status)  # type: ignore[attr-defined]
                    tag("span", one.updated_by)
                    ago(one.created_at)
                if self.visit.context.edits:
                    self._actions(one)
            if before is not None:
                show_changes(differences(self.of, before, one))

    def _actions(self, one: Any) -> None:
        visit, version = self.visit, self.of.version_of(one)
        there = self.page(tab="versions")

        async def use() -> None:
            await visit.do(lambda: activate(visit.resources.store, visit.context, self.of, version), "Active", there)

        async def delete() -> None:
            loss = "The newest of the others becomes the active one." if one.status is VersionStatus.ACTIVE else "The active version stays."
            if await confirm("Delete this version?", loss, verb="Delete"):
                await visit.do(lambda: self.delete(version), "Deleted", there)

        with tag("div", classes="line gap-1"):
            if one.status is not VersionStatus.ACTIVE:
                button("Use this version", use, icon="check", look="small")
            button("Delete", delete, icon="delete", look="small danger")


def show_changes(found: dict[str, tuple[Any, Any]]) -> None:
    """What a version changed, attribute by attribute; long texts line by line."""
    if not found:
        tag("p", "Nothing differs from the version before.", "meta")
        return
    with tag("dl", classes="facts"):
        for name, (was, now) in found.items():
            tag("dt", name.replace("_", " "))
            with tag("dd", classes="agents-diff"):
                _change(_text(was), _text(now))


def _change(was: str, now: str) -> None:
    if max(len(was), len(now)) <= _SHORT and "\n" not in was + now:
        tag("del", was or "nothing", "agents-was", dir="auto")
        tag("ins", now or "nothing", "agents-now", dir="auto")
        return
    for kind, line in changed_lines(was, now):
        match kind:
            case "removed":
                tag("del", line[:_LONGEST] or " ", "agents-was", dir="auto")
            case "added":
                tag("ins", line[:_LONGEST] or " ", "agents-now", dir="auto")
            case "same":
                tag("span", line[:_LONGEST] or " ", "agents-same", dir="auto")
            case "gap":
                tag("span", f"({line})", "agents-same meta")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str, indent=2 if value else None)

"""The Access tab: who can read a collection and why, what the viewer may do, and, for administrators of the host, who has a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action, Caller, explain
from gateleg.host import Role
from gateleg.web.console.components import Column, Field, Grid, Row, badge_cell, button, empty, section, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.access import Decision
    from gateleg.apps.rag.collections import OpenedCollection
    from gateleg.apps.rag.web.visit import Visit
    from gateleg.host import Principal

#: The actions on a collection, in words.
ACTIONS = {
    Action.READ: "read its documents",
    Action.SEARCH: "search it",
    Action.INGEST: "add documents",
    Action.CHANGE_COLLECTION: "change or delete it",
}
_COLUMNS = (Column("name", "Name"), Column("reads", "Reads it"), Column("why", "Because"), Column("groups", "Groups", desk=True))


@dataclass(frozen=True, slots=True)
class Person:
    """A person, with the access decisions about a collection."""

    principal: Principal
    decisions: dict[Action, Decision]

    @property
    def reading(self) -> Decision:
        """Whether the person can read the collection."""
        return self.decisions[Action.READ]


def person_of(principal: Principal, opened: OpenedCollection, admin_group: str) -> Person:
    """Decide all actions on a collection for a person."""
    caller = Caller(principal, admin_group)
    return Person(principal, {action: caller.decide(action, opened.repository, opened.collection) for action in ACTIONS})


async def access_part(visit: Visit) -> None:
    """Show who can read the collection, and why."""
    opened = visit.opened
    with section("Who can read it"), tag("ul", classes="stack gap-1"):
        for sentence in explain(opened.repository, opened.collection, admin_group=visit.caller.admin_group):
            tag("li", sentence)
    with section("What you may do"):
        _decisions(person_of(visit.caller.principal, opened, visit.caller.admin_group))
    # Only administrators of the host may see who has keys.
    if visit.view.may(Role.ADMIN):
        await _people(visit)


async def _people(visit: Visit) -> None:
    # A person may have several keys; keys with the same rights are shown once.
    principals = {(one.name, one.tenant, one.role, one.groups): one for one in await visit.view.host.keys.principals()}
    people = [person_of(one, visit.opened, visit.caller.admin_group) for one in principals.values()]
    people.sort(key=lambda one: (not one.reading.allowed, one.principal.name.casefold()))
    with section("Everybody with a key"):
        if not people:
            empty("people", "Nobody has a key", "Create keys in the settings of the host.")
            return
        with tag("div", classes="line gap-1 rag-search", role="search"):
            names = sorted({one.principal.name for one in people})
            name = Field("Name", "", placeholder="A person with a key", options=names, on_enter=lambda: explain_person())
            button("Explain", lambda: explain_person(), icon="help", look="first")
        found = tag("div", classes="stack gap-1", aria_live="polite")
        Grid("Everybody with a key", _COLUMNS, [_row(str(number), one) for number, one in enumerate(people)], complete=True)

    def explain_person() -> None:
        found.clear()
        if name.text:
            with found:
                _explained(name.text, [one for one in people if one.principal.name.casefold() == name.text.casefold()])


def _explained(name: str, people: Sequence[Person]) -> None:
    if not people:
        tag("p", f"Nobody named {name} has a key, so they cannot read it.", "note warning")
    for one in people:
        with tag("article", classes="card stack gap-1"):
            tag("h3", f"{one.principal.name}, {_described(one.principal)}", dir="auto")
            _decisions(one)


def _decisions(person: Person) -> None:
    with tag("ul", classes="stack gap-1"):
        for action, words in ACTIONS.items():
            decision = person.decisions[action]
            with tag("li", classes="line gap-1"):
                tag("span", "Yes" if decision.allowed else "No", "strong")
                tag("span", f"{words}: {decision.reason}.")


def _described(principal: Principal) -> str:
    groups = f"in {', '.join(sorted(principal.groups))}" if principal.groups else "in no group"
    tenant = "" if principal.tenant is None else f" of the tenant {principal.tenant}"
    return f"{principal.role.word}{tenant}, {groups}"


def _row(key: str, one: Person) -> Row:
    allowed = one.reading.allowed
    cells = {
        "name": one.principal.name if one.principal.tenant is None else f"{one.principal.name} ({one.principal.tenant})",
        "reads": badge_cell("Yes" if allowed else "No", "done" if allowed else "neutral"),
        "why": one.reading.reason,
        "groups": ", ".join(sorted(one.principal.groups)),
    }
    return Row(key, cells)

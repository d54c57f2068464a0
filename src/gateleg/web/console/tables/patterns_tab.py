"""The access patterns of a table: its diagram, a card for each pattern, its form, and the results.

An access pattern as a form: its arguments as fields, and the query of the input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.host.item_keys import table_address
from gateleg.host.items import why_not_read
from gateleg.model import ModelError, spec_of
from gateleg.ops import explain
from gateleg.ops.documents import attribute_comments
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import ErrorText, empty, trouble
from gateleg.web.console.forms import Field
from gateleg.web.console.lists import pager, show_when_loaded
from gateleg.web.console.markup import card, section, tag
from gateleg.web.console.tables.diagrams import table_svg
from gateleg.web.console.tables.documents import attribute_table, format_json
from gateleg.web.console.tables.inputs import BadText, Input, input_for, sentence, value_of
from gateleg.web.console.tables.items_tab import items_grid
from gateleg.web.console.tables.query_results import cost_text, query_page
from gateleg.web.console.tables.snippets import StoreLocation, as_command, as_python
from gateleg.web.console.widgets import coloured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Access, Query, Spec, Table
    from gateleg.web.console.frame import View
    from gateleg.web.console.tables.query_results import QueryResult


#: The prefix of arguments in the address, which separates them from other parameters.
_ARGUMENT = "a."
_LIMIT = 20
_REQUEST = "The request"


async def patterns_tab(view: View, table: Table, query: Mapping[str, str]) -> None:
    """The tab: all patterns, or one of them with its form and results."""
    access = find_access(table, query.get("pattern", ""))
    if access is None:
        if not table.specs:
            with tag("div", classes="note"):
                tag("p", "This table is not declared", "strong")
                remedy = (
                    "No installed application declares it. Its items can be viewed and edited as DynamoDB JSON; declare the "
                    "table in Python to run access patterns and edit fields."
                )
                tag("p", remedy, "meta")
        if any(spec.patterns for spec in table.specs):
            with section("Access patterns"), tag("div", classes="tiles"):
                _cards(table, None)
        _drawing(table)
        _entities(table)
        return
    with tag("div", classes="beside"):
        with tag("nav", classes="stack gap-1", aria_label="Patterns"):
            _cards(table, access)
        with tag("div", classes="stack gap-2"):
            await _question(view, access, query)


def _drawing(table: Table) -> None:
    with section("Keys and indexes"), card("drawing", label="Diagram"):
        ui.html(table_svg(table), sanitize=False).props["tabindex"] = "0"


def _cards(table: Table, chosen: Access[Any] | None) -> None:
    """A card for each pattern."""
    for spec in table.specs:
        for access in spec.patterns.values():
            current = "page" if access is chosen else None
            href = table_address(table.name, {"tab": "patterns", "pattern": access.name})
            with tag("a", classes="card pattern", href=href, aria_current=current, data_row=""):
                tag("span", access.pattern.title, "strong")
                tag("span", f"Query {arguments_text(access)}.", "meta")
                with tag("span", classes="line gap-1"):
                    tag("span", spec.name, "plain-chip")
                    tag("span", access.plan.index.name or "the table", "plain-chip mono")


def _entities(table: Table) -> None:
    if not table.specs:
        return
    with section("Entities"):
        for spec in table.specs:
            with tag("details", classes="card fold", open=len(table.specs) == 1):
                with tag("summary"):
                    tag("span", spec.name, "strong")
                    tag("span", spec.doc, "meta")
                attribute_table(spec)


async def _question(view: View, access: Access[Any], query: Mapping[str, str]) -> None:
    """One pattern: its form, and the results once it is filled in."""
    texts = {name.removeprefix(_ARGUMENT): text for name, text in query.items() if name.startswith(_ARGUMENT)}
    reverse = query.get("order") == "reversed"
    pattern_query = build_query(access, texts, reverse=reverse) if texts else PatternQuery()
    forbidden = why_not_read(view.principal, spec_of(access.entity).table.name)
    with card("editor", label=access.pattern.title):
        with tag("div", classes="stack"):
            tag("h2", access.pattern.title)
            tag("p", access.pattern.description or f"Query {arguments_text(access)}.", "meta")
        _form(access, texts, pattern_query, reverse)
    if forbidden:
        empty("table", "Not allowed", forbidden)
    elif pattern_query.query is not None:
        await _answer(view, access, texts, pattern_query, query, reverse)
    else:
        _explained(access)


def _form(access: Access[Any], texts: Mapping[str, str], pattern_query: PatternQuery, reverse: bool) -> None:
    table = spec_of(access.entity).table
    controls: dict[str, Field] = {}

    def run() -> None:
        given = {f"{_ARGUMENT}{name}": control.text for name, control in controls.items()}
        # Required arguments are sent even if they are empty, so that the page reports them.
        needed = {f"{_ARGUMENT}{name}": "" for name in access.required}
        state = {"tab": "patterns", "pattern": access.name, "order": "reversed" if turned.value else ""}
        kept = {name: text for name, text in (needed | given | state).items() if text or name in needed}
        ui.navigate.to(table_address(table.name, kept))

    with tag("div", classes="fields"):
        for entry in fields_of(access):
            controls[entry.name] = argument_field(entry, texts.get(entry.name, ""), run)
            if entry.name in pattern_query.problems:
                controls[entry.name].show_wrong(pattern_query.problems[entry.name])
    if pattern_query.problems.get(""):
        tag("p", pattern_query.problems[""], "wrong", role="alert")
    with tag("div", classes="line gap-2"):
        button("Run", run, icon="play_arrow", look="first")
        turned = Field("Reverse order", reverse, kind="tick")


def argument_field(entry: Input, text: str, enter: Any) -> Field:
    """The field of one argument."""
    label = entry.name if entry.required else f"{entry.name} (optional)"
    if entry.options:
        choices = [("", "Choose" if entry.required else "any"), *((value, value) for value in entry.options)]
        return Field(label, text, kind="choice", hint=sentence(entry.note), required=entry.required, choices=choices)
    return Field(label, text, hint=sentence(entry.note), placeholder=entry.hint, required=entry.required, on_enter=enter)


async def _answer(
    view: View, access: Access[Any], texts: Mapping[str, str], pattern_query: PatternQuery, query: Mapping[str, str], reverse: bool
) -> None:
    """The results, the request, its cost, and how to run the same query elsewhere."""
    assert pattern_query.query is not None
    table = spec_of(access.entity).table
    cursor = query.get("cursor") or None
    state = {name: text for name, text in query.items() if name != "cursor"}

    def show(found: QueryResult) -> None:
        if found.note:
            trouble(ErrorText(found.note, "Such items come last, as they are stored; open one to edit it as DynamoDB JSON."))
        with card("tight", label="Result"):
            with tag("div", classes="card-head"):
                tag(
                    "h3",
                    f"{len(found.items)} {'item' if len(found.items) == 1 else 'items'}{' on this page' if found.next or cursor else ''}",
                )
                tag("span", cost_text(found.sent), "meta num", title="Consumed capacity units, as reported by the store")
            if found.items:
                complete = not cursor and not found.next
                items_grid(table, found.items, spec_of(access.entity), tables=view.host.tables_for(view.principal), complete=complete)
            else:
                empty("search", "No results", "No item has these values. See the tab Items for what is stored, or use fewer arguments.")
        if found.next or cursor:
            pager(f"/tables/{table.name}", state, cursor=cursor, following=found.next, shown=len(found.items))
        requests = "\n\n".join(f"{entry.operation} {format_json(entry.request)}" for entry in found.sent)
        location = StoreLocation.of(view.host.settings)
        _snippets(
            {
                _REQUEST: requests,
                "As Python": as_python(access, pattern_query.values, limit=_LIMIT, reverse=reverse, location=location),
                "On the command line": as_command(access, texts, limit=_LIMIT, reverse=reverse, location=location),
            }
        )

    await show_when_loaded(query_page(view.host.store, pattern_query.query, limit=_LIMIT, cursor=cursor), show, saying="Asking")


def _snippets(texts: Mapping[str, str]) -> None:
    for title, text in texts.items():
        with tag("details", classes="card fold"):
            with tag("summary"):
                tag("span", title, "strong")
            shown = coloured(text) if title == _REQUEST else escape(text)
            ui.html(shown, sanitize=False, tag="pre").classes("code").props(f'tabindex=0 role=region aria-label="{title}"')
            tag("button", "Copy", "deed small", type="button", data_copy=text)


def _explained(access: Access[Any]) -> None:
    """The query plan."""
    described = explain(access)
    with card("roomy", label="Query plan"):
        tag("h3", "Query plan")
        with tag("dl", classes="facts"):
            for name, text in (
                ("Reads", f"{described.kind} {described.index}".strip()),
                ("Condition", described.condition),
                ("Order", described.order),
                ("Costs", f"{described.cost.units:,g} read units for {described.items:,} items of 1 KB"),
                ("Consistent", "possible" if described.consistent else "not possible: a global index is eventually consistent"),
            ):
                tag("dt", name)
                tag("dd", text, "mono" if name == "Condition" else "")
        with tag("ul", classes="remarks"):
            for remark in described.remarks:
                tag("li", remark, "meta")


@dataclass(frozen=True)
class PatternQuery:
    """The result of a form: a query, or the problem of each field."""

    query: Query[Any] | None = None
    #: the arguments by name, as parsed by the model
    values: Mapping[str, Any] = field(default_factory=dict)
    #: problems by field; under the empty name those of the whole form
    problems: Mapping[str, str] = field(default_factory=dict)


def fields_of(access: Access[Any]) -> list[Input]:
    """The fields of a pattern's form: required arguments, then optional ones, from left to right."""
    comments = attribute_comments(access.entity)
    return [_field(access, name, comments.get(name, "")) for name in (*access.required, *access.optional)]


def _field(access: Access[Any], name: str, comment: str) -> Input:
    spec = spec_of(access.entity)
    source = spec.sources[name]
    attribute = spec.attributes[source.attribute]
    note = attribute.info.description or comment
    return input_for(name, source.annotation, source.declared, required=name in access.required, note=note)


def build_query(access: Access[Any], texts: Mapping[str, str], *, reverse: bool = False) -> PatternQuery:
    """The query of the input. All fields are checked, so that all problems are reported at once."""
    spec = spec_of(access.entity)
    values: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for entry in fields_of(access):
        text = texts.get(entry.name, "")
        if not text.strip():
            if entry.required:
                problems[entry.name] = "This field is required."
            continue
        try:
            values[entry.name] = _value(spec, entry, text)
        except BadText as error:
            problems[entry.name] = str(error)
    if problems:
        return PatternQuery(values=values, problems=problems)
    return _query(access, values, reverse)


def _query(access: Access[Any], values: dict[str, Any], reverse: bool) -> PatternQuery:
    gap = _missing_before_given(access, values)
    if gap is not None:
        return PatternQuery(values=values, problems={gap: "This field is required too: a sort key is matched from the left."})
    try:
        query = access(**values)
    except ModelError as error:
        return PatternQuery(values=values, problems={"": f"{error.message} {error.fix}"})
    return PatternQuery(query.reversed() if reverse else query, values)


def _missing_before_given(access: Access[Any], values: Mapping[str, Any]) -> str | None:
    """The first optional argument that is missing before one that is given."""
    given = [name in values for name in access.optional]
    if True not in given:
        return None
    last = len(given) - 1 - given[::-1].index(True)
    return next((name for name, here in zip(access.optional[:last], given, strict=False) if not here), None)


def _value(spec: Spec[Any], entry: Input, text: str) -> Any:
    """The argument in its declared type. Error messages omit the name, which the field already shows."""
    source = spec.sources[entry.name]
    given = value_of(entry, text, source.declared)
    try:
        return source.validate(given, spec.name)
    except ModelError as error:
        raise BadText(error.message.removeprefix(f"{spec.name}.{entry.name} cannot be {given!r}: ")) from None


def find_access(table: Table, name: str) -> Access[Any] | None:
    """The pattern of a table by its full name, `Job.waiting`."""
    return next((access for spec in table.specs for access in spec.patterns.values() if access.name == name), None)


def arguments_text(access: Access[Any]) -> str:
    """The required and optional arguments of a pattern, in words."""
    needs = _and([_plain(name) for name in access.required])
    if not access.optional:
        return f"by {needs}"
    return f"by {needs}, optionally {_and([_plain(name) for name in access.optional])}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"

"""Editors of items: forms that show problems at their fields, and both versions after a conflict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.host.actions import perform
from gateleg.host.actions.items import ChangeItem, CreateItem, InvalidItem, change_item, create_item
from gateleg.host.item_keys import item_address, key_text
from gateleg.host.item_writes import WriteConflict
from gateleg.host.items import check_document, etag_of, hidden_names, readable
from gateleg.store import AlreadyExists
from gateleg.web.console.actions import call_of
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import trouble
from gateleg.web.console.forms import Field, guarded, open_after_save, unguarded
from gateleg.web.console.markup import card, tag
from gateleg.web.console.tables.documents import differences, document_of, read_document
from gateleg.web.console.tables.inputs import sentence
from gateleg.web.console.tables.sheets import fill, split

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from gateleg.model import Item, Spec, Table
    from gateleg.web.console.frame import View
    from gateleg.web.console.tables.sheets import Line, Sheet


#: Scroll to the problem once the page shows it: the first field, or the message about the whole form.
_TO_THE_FIELD = """requestAnimationFrame(() => {
  const field = document.querySelector('[aria-invalid=true]');
  field?.closest('details')?.setAttribute('open', '');
  field?.focus();
})"""
_TO_THE_WORDS = "requestAnimationFrame(() => document.querySelector('.said')?.scrollIntoView({block: 'center'}))"


class _Form:
    """Fields, a place below them for problems of the whole form, and buttons."""

    def __init__(self, label: str) -> None:
        self.controls: dict[str, Field] = {}
        with guarded(card("editor", label=label)):
            self.body = tag("div", classes="fields")
            self.said = tag("div", classes="stack gap-2 said")
            self.deeds = tag("div", classes="line gap-1 stays")

    def texts(self) -> dict[str, str]:
        """The current content of the fields."""
        return {name: str(control.value) for name, control in self.controls.items()}

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show the problems at their fields."""
        for name, control in self.controls.items():
            control.show_wrong(problems.get(name))
        self.said.clear()
        if problems.get(""):
            with self.said:
                tag("p", problems[""], "note failed", role="alert")
            ui.run_javascript(_TO_THE_WORDS)
        elif problems:
            ui.run_javascript(_TO_THE_FIELD)

    async def attempt(self, work: Callable[[], Awaitable[None]], lost: Callable[[WriteConflict], None] | None = None) -> None:
        """Run an action; an error is shown beside its button."""
        try:
            await work()
        except Exception as error:
            self.said.clear()
            with self.said:
                if isinstance(error, WriteConflict) and lost is not None:
                    lost(error)
                elif isinstance(error, InvalidItem) and "document" not in self.controls:
                    self.show_problems(error.problems)
                else:
                    trouble(error)
            ui.run_javascript(_TO_THE_WORDS)


def _line_field(line: Line, *, off: bool, new: bool = False) -> Field:
    """The field of one attribute."""
    entry = line.input
    open_ = not off and not line.locked
    made = f"If left empty: {line.default}." if new and line.default and not line.text else ""
    hint = " ".join(filter(None, (sentence(entry.note), line.locked or made)))
    options: dict[str, Any] = {"hint": hint, "required": entry.required and open_, "off": not open_}
    label = f"{entry.name} · {entry.type}{', optional' if line.optional else ''}"
    if entry.options and open_:
        blank = [] if line.text and not line.optional else [("", "none" if line.optional else "")]
        return Field(label, line.text, kind="choice", choices=[*blank, *((value, value) for value in entry.options)], **options)
    if entry.kind == "json" or len(line.text) > 90 or "\n" in line.text:
        rows = min(16, max(2, line.text.count("\n") + 1))
        return Field(label, line.text, kind="area", rows=rows, whole=True, placeholder=entry.hint, **options)
    return Field(label, line.text, placeholder=entry.hint, **options)


class FieldsEditor:
    """A stored item as fields."""

    def __init__(self, view: View, spec: Spec[Any], sheet: Sheet, item: Item, instance: Any, *, changeable: bool) -> None:
        self._view, self._spec, self._sheet, self._item, self._before = view, spec, sheet, item, instance
        self._form = _Form("Fields")
        present, absent = split(sheet.lines)
        with self._form.body:
            for line in present:
                self._form.controls[line.input.name] = _line_field(line, off=not changeable)
            if absent:
                with tag("details", classes="whole absent"):
                    tag("summary", f"{len(absent)} absent {'attribute' if len(absent) == 1 else 'attributes'}")
                    with tag("div", classes="fields"):
                        for line in absent:
                            self._form.controls[line.input.name] = _line_field(line, off=not changeable)
        with self._form.deeds:
            if changeable:
                button("Save", self._save, icon="check", look="first")
                unguarded(button("Undo", ui.navigate.reload))

    async def _save(self) -> None:
        filled = fill(self._spec, self._sheet, self._form.texts(), self._before)
        self._form.show_problems(filled.problems)
        if filled.problems:
            return
        if filled.instance == self._before:
            ui.notification("No changes", icon="info", timeout=3, position="bottom")
            return
        await self._write(self._item, self._before, filled.instance)

    async def _write(self, item: Item, before: Any, after: Any) -> None:
        table = self._spec.table
        values = {name: value for name in self._spec.attributes if (value := after.__dict__[name]) != before.__dict__[name]}
        change = ChangeItem(table=table.name, key=key_text(table, item), values=values, etag=etag_of(table, item))

        async def work() -> None:
            await perform(change_item, call_of(self._view), change)
            _saved(table, item)

        await self._form.attempt(work, lambda race: self._lost(race, after))

    def _lost(self, race: WriteConflict, mine: Any) -> None:
        """Show both versions, and let the user choose."""
        spec = self._spec
        if race.current is None:
            with tag("div", classes="note failed", role="alert"):
                tag("p", "The item was deleted after you opened it. Your changes are not saved.", "strong")
            return
        current, theirs = race.current, readable(spec, race.current)
        if theirs is None:
            with tag("div", classes="note failed", role="alert"):
                tag(
                    "p",
                    f"The item was changed after you opened it, and is no longer a valid {spec.name}. Your changes are not saved.",
                    "strong",
                )
            return

        async def insist() -> None:
            # My changes are applied to the stored item; everything else stays as the other writer left it.
            changed = {name: mine.__dict__[name] for name in spec.attributes if mine.__dict__[name] != self._before.__dict__[name]}
            await self._write(current, theirs, theirs.model_copy(update=changed))

        owned = {attribute.wire for attribute in spec.attributes.values() if attribute.is_special("version") or attribute.traits.stamp}
        _both_sides(differences(self._item, spec.encode(mine), current, frozenset(owned) | spec.derived_names | hidden_names(spec)), insist)


def _both_sides(found: Any, insist: Callable[[], Awaitable[None]]) -> None:
    with tag("div", classes="note warning race", role="alert"):
        tag("p", "The item was changed after you opened it. Your changes are not saved yet.", "strong")
        with tag("div", classes="grid-box"), tag("table", classes="grid still"):
            with tag("thead"), tag("tr"):
                for head in ("Attribute", "When you opened it", "Yours", "Stored now"):
                    tag("th", head, scope="col")
            with tag("tbody"):
                for entry in found:
                    with tag("tr", classes="clash" if entry.clash else ""):
                        tag("td", entry.name, "mono lead", data_label="Attribute")
                        tag("td", entry.read or "absent", "" if entry.read else "faint", data_label="When you opened it")
                        tag("td", entry.mine or "absent", "mine" if entry.mine != entry.read else "faint", data_label="Yours")
                        tag("td", entry.stored or "absent", "theirs" if entry.stored != entry.read else "faint", data_label="Stored now")
        with tag("div", classes="line gap-1"):
            unguarded(button("Keep the stored item", ui.navigate.reload, look="first"))
            button("Overwrite with my changes", insist, look="danger")


def _saved(table: Table, item: Item, **query: str) -> None:
    ui.notification("Saved", icon="check", timeout=3, position="bottom")
    open_after_save(item_address(table.name, key_text(table, item), **query))


class DocumentEditor:
    """A stored item as DynamoDB JSON."""

    def __init__(self, view: View, table: Table, item: Item, *, changeable: bool) -> None:
        self._view, self._table, self._item = view, table, item
        text = document_of(item, table.spec_for(item))
        self._form = _Form("DynamoDB JSON")
        with self._form.body:
            rows = min(32, text.count("\n") + 2)
            self._form.controls["document"] = Field("The item", text, kind="area", rows=rows, whole=True, off=not changeable)
        with self._form.deeds:
            if changeable:
                button("Save", self._save, icon="check", look="first")
                unguarded(button("Undo", ui.navigate.reload))
            tag("button", "Copy", "deed", type="button", data_copy=text)

    async def _save(self) -> None:
        written = read_document(self._table, self._form.texts()["document"], self._item)
        self._form.show_problems({"document": written.problem} if written.problem else {})
        if not written.problem:
            await self._write(self._item, written.content)

    async def _write(self, item: Item, content: Item) -> None:
        table = self._table
        change = ChangeItem(table=table.name, key=key_text(table, item), item=content, etag=etag_of(table, item))

        async def work() -> None:
            await perform(change_item, call_of(self._view), change)
            _saved(table, item, form="json")

        await self._form.attempt(work, lambda race: self._lost(race, content))

    def _lost(self, race: WriteConflict, content: Item) -> None:
        if race.current is None:
            with tag("div", classes="note failed", role="alert"):
                tag("p", "The item was deleted after you opened it. Your changes are not saved.", "strong")
            return
        current, mine = race.current, check_document(self._table, content, self._item)

        async def insist() -> None:
            rebased = {name: value for name, value in current.items() if name in mine.item or name not in self._item}
            rebased |= {name: value for name, value in mine.item.items() if self._item.get(name) != value}
            derived = mine.spec.derived_names if mine.spec is not None else frozenset[str]()
            rebased |= {name: current[name] for name in derived if name in current}
            problem = check_document(self._table, rebased, current).problem
            self._form.show_problems({"document": problem} if problem else {})
            if not problem:
                await self._write(current, rebased)

        spec = self._table.spec_for(self._item)
        leave_out = spec.derived_names | hidden_names(spec) if spec is not None else frozenset[str]()
        _both_sides(differences(self._item, mine.item, current, leave_out), insist)


class NewFields:
    """A new item as fields."""

    def __init__(self, view: View, spec: Spec[Any], sheet: Sheet) -> None:
        self._view, self._spec, self._sheet = view, spec, sheet
        self._form = _Form(f"New {spec.name}")
        with self._form.body:
            for line in sheet.lines:
                if not line.locked:
                    self._form.controls[line.input.name] = _line_field(line, off=False, new=True)
        with self._form.deeds:
            button(f"Create {spec.name}", self._create, icon="add", look="first")

    async def _create(self) -> None:
        filled = fill(self._spec, self._sheet, self._form.texts())
        self._form.show_problems(filled.problems)
        if filled.problems:
            return
        values = {line.input.name: filled.instance.__dict__[line.input.name] for line in self._sheet.lines if not line.locked}
        new = CreateItem(table=self._spec.table.name, entity=self._spec.name, values=values)

        async def work() -> None:
            try:
                written = await perform(create_item, call_of(self._view), new)
            except AlreadyExists as error:
                names = ", ".join(self._spec.key.names)
                self._form.show_problems({"": f"{error.message} Change {names}, or open the existing item."})
                return
            _saved(written.table, written.item)

        await self._form.attempt(work)


class NewDocument:
    """A new item as DynamoDB JSON."""

    def __init__(self, view: View, table: Table, like: Item | None) -> None:
        self._view, self._table = view, table
        example: Item = {name: {kind: ""} for name, kind in table.key_types().items() if name in table.attributes}
        self._form = _Form("New item")
        with self._form.body:
            self._form.controls["document"] = Field("The item", document_of(like or example), kind="area", rows=16, whole=True)
        with self._form.deeds:
            button("Create item", self._create, icon="add", look="first")

    async def _create(self) -> None:
        document = read_document(self._table, self._form.texts()["document"])
        self._form.show_problems({"document": document.problem} if document.problem else {})
        if document.problem:
            return

        async def work() -> None:
            try:
                written = await perform(create_item, call_of(self._view), CreateItem(table=self._table.name, item=document.content))
            except AlreadyExists:
                self._form.show_problems({"document": "An item with this key already exists."})
                return
            _saved(written.table, written.item)

        await self._form.attempt(work)

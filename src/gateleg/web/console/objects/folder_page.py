"""`/objects?prefix=...`: the content of a folder, uploads and deletions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import context, ui

from gateleg.host.actions import perform
from gateleg.host.actions.objects import ObjectsToDelete, PutObject, delete_objects, keys_below, new_key, put_object
from gateleg.host.principal import Role
from gateleg.web.console.actions import act, call_of
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, chip_cell
from gateleg.web.console.dialogs import button, carry_out
from gateleg.web.console.failures import describe_error, empty
from gateleg.web.console.forms import Field, confirm
from gateleg.web.console.frame import Crumb, frame
from gateleg.web.console.lists import pager, show_when_loaded
from gateleg.web.console.markup import card, size_text, tag
from gateleg.web.console.objects.contents import (
    DroppedFile,
    folder_address,
    folder_entries,
    icon_of,
    kind_of_key,
    name_of,
    object_address,
    path_to,
)
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from nicegui.events import UploadEventArguments

    from gateleg.objects import ObjectPage
    from gateleg.web.console.cells import Cell
    from gateleg.web.console.frame import View
    from gateleg.web.console.objects.contents import FolderEntry

_LIMIT = 100
_COLUMNS = (
    Column("name", "Name"),
    Column("kind", "Kind"),
    Column("size", "Size", right=True),
    Column("modified", "Changed", right=True),
)
_WORDS = {
    "folder": "Folder",
    "image": "Picture",
    "video": "Film",
    "audio": "Sound",
    "html": "Page",
    "json": "JSON",
    "text": "Text",
    "none": "File",
}


async def folder_page(prefix: str, cursor: str | None) -> None:
    """The page."""
    steps = path_to(prefix)
    crumbs = [Crumb("Objects", "/objects"), *(Crumb(step.name, folder_address(step.prefix)) for step in steps[:-1])] if steps else []
    with frame(title=steps[-1].name if steps else "Objects", section="objects", crumbs=crumbs) as view:
        operator = view.may(Role.OPERATOR)
        if operator:
            _upload(view, prefix)

        def show(page: ObjectPage) -> None:
            entries = folder_entries(page, prefix)
            if not entries and cursor is None:
                _nothing(prefix, operator)
                return
            with card("tight", label="Objects"):
                chosen = _Selection(view) if operator else None
                Grid("Objects", _COLUMNS, [_row(entry) for entry in entries], on_choose=chosen.select if chosen else None)
            pager("/objects", {"prefix": prefix}, cursor=cursor, following=page.cursor, shown=len(entries))

        await show_when_loaded(view.host.objects.list(prefix, delimiter="/", cursor=cursor, limit=_LIMIT), show, rows=10)


def _nothing(prefix: str, operator: bool) -> None:
    what = "This folder is empty" if prefix else "No objects yet"
    sentence = "Applications store content here that is too large for a table: images, videos, reports."
    empty("folder", what, f"{sentence} Drop a file above to upload the first one." if operator else sentence)


def _row(entry: FolderEntry) -> Row:
    shown = "folder" if entry.folder else kind_of_key(entry.place)
    cells: dict[str, Cell] = {
        "name": f"{entry.name}/" if entry.folder else entry.name,
        "kind": chip_cell(Badge("neutral", _WORDS[shown], icon_of(shown))),
        "size": None if entry.folder else size_text(entry.size),
        "modified": ago_cell(entry.modified),
    }
    return Row(entry.place, cells, folder_address(entry.place) if entry.folder else object_address(entry.place))


def _upload(view: View, prefix: str) -> None:
    """A drop zone for files."""
    client = context.client

    async def take(event: UploadEventArguments) -> None:
        try:
            file = PutObject(key=new_key(prefix, event.file.name), content=event.file.iterate(), replace=bool(replace.value))
            info = await perform(put_object, call_of(view), file)
        except Exception as error:
            words = describe_error(error)
            with client, said:
                tag("p", f"{event.file.name}: {words.what} {words.fix}", "note failed", role="alert")
            return
        with client, said, tag("p", classes="note done"):
            tag("a", name_of(info.key), "link", href=object_address(info.key))
            tag("span", f" was stored, {size_text(info.size)}.")

    def refused() -> None:
        with client, said:
            tag("p", f"The file was refused: the limit is {size_text(most)}.", "note failed", role="alert")

    most = view.host.settings.upload_limit
    with tag("section", classes="drop", aria_label="Upload"):
        DroppedFile(label="or drop them here", multiple=True, max_file_size=most, on_upload=take, on_rejected=refused)
        replace = Field("Replace objects of the same name", False, kind="tick")
        said = tag("div", classes="stack gap-1", role="status")


class _Selection:
    """The selected rows, and the actions on them."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._places: list[str] = []
        with tag("div", classes="card-head") as self._bar:
            self._count = tag("span", "", "meta num", role="status")
            button("Delete", self._delete, icon="delete", look="small danger")
        self._bar.set_visibility(False)

    def select(self, places: list[str]) -> None:
        """Set the selected rows."""
        self._places = places
        self._count.set_text(f"{len(places)} selected")
        self._bar.set_visibility(bool(places))

    async def _delete(self) -> None:
        keys: list[str] = []

        async def count() -> None:
            keys.extend(await keys_below(call_of(self._view), self._places))

        if not await carry_out(self._view, Role.OPERATOR, count):
            return
        what = f"the object {keys[0]}" if len(keys) == 1 else f"{len(keys):,} objects"
        folders = [place for place in self._places if place.endswith("/")]
        named = f", everything in {', '.join(folders)} included" if folders else ""
        loss = f"{what[:1].upper()}{what[1:]} will be deleted{named}. This cannot be undone."
        if not await confirm(f"Delete {what}?", loss, verb="Delete", name="delete" if len(keys) > 5 else None):
            return
        if keys and await act(self._view, delete_objects, ObjectsToDelete(places=keys), confirmed=True):
            ui.navigate.reload()

"""Components for pages of applications, so that they look and behave like the console.

Import them from here:

    page      `frame` puts navigation, search and heading around a page, and provides its `View`; `Crumb` is a breadcrumb
    layout    `section` has a heading, `card` a border; `stack` and `line` place elements below and beside each other; `tag` is any HTML
    table     `Grid` with `Column` and `Row`; cells are texts or come from `badge_cell`, `ago_cell`, `id_cell`, `link_cell`, `meta_cell`,
              `bar_cell` and `button_cell`
    form      `ModelForm` makes a form of a pydantic model; `Field` is a single control
    uploads   `UploadField` sends files to the application's uploads, in parts and with progress; `FileForm` to any route in one request
    actions   `button`; `confirm` asks first; `carry_out` checks the role, runs the action and shows the result;
              `carry_out_and_open` opens a page afterwards
    status    `badge` shows a state as icon, label and colour; `Statuses` those of an enumeration; `ago`, `since` and `duration` are times
    states    `empty` for an empty list, `show_not_found` for what does not exist or may not be seen, `trouble` for an error,
              `show_when_loaded` while something slow is loading
    updates   `Topic` and `follow`: one poller per topic for all open pages
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.durations import duration
from gateleg.host.live import Topic
from gateleg.web.console.cells import (
    ICONS,
    Badge,
    Column,
    Part,
    Row,
    Statuses,
    ago_cell,
    bar_cell,
    button_cell,
    chip,
    chip_cell,
    id_cell,
    link_cell,
    meta_cell,
)
from gateleg.web.console.dialogs import button, carry_out, carry_out_and_open, sheet
from gateleg.web.console.error_pages import show_not_found
from gateleg.web.console.failures import empty, trouble
from gateleg.web.console.forms import Field, ModelForm, confirm
from gateleg.web.console.frame import Crumb, Tabs, View, frame
from gateleg.web.console.lists import address, pager, show_when_loaded
from gateleg.web.console.live import follow
from gateleg.web.console.markup import Tag, ago, card, line, section, since, size_text, stack, tag
from gateleg.web.console.widgets import UPLOAD_MODULE, FileForm, Grid, UploadField

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.web.console.theme import Kind


def badge(word: str, kind: Kind = "neutral", *, icon: str | None = None) -> Element:
    """A state on a page. `kind` is its colour: waiting, running, done, failed, cancelled, warning or neutral."""
    return chip(Badge(kind, word, icon or ICONS[kind]))


def badge_cell(word: str, kind: Kind = "neutral", *, icon: str | None = None) -> Part:
    """A state in a cell of a `Grid`."""
    return chip_cell(Badge(kind, word, icon or ICONS[kind]))


__all__ = [
    "UPLOAD_MODULE",
    "Column",
    "Crumb",
    "Field",
    "FileForm",
    "Grid",
    "ModelForm",
    "Part",
    "Row",
    "Statuses",
    "Tabs",
    "Tag",
    "Topic",
    "UploadField",
    "View",
    "address",
    "ago",
    "ago_cell",
    "badge",
    "badge_cell",
    "bar_cell",
    "button",
    "button_cell",
    "card",
    "carry_out",
    "carry_out_and_open",
    "confirm",
    "duration",
    "empty",
    "follow",
    "frame",
    "id_cell",
    "line",
    "link_cell",
    "meta_cell",
    "pager",
    "section",
    "sheet",
    "show_not_found",
    "show_when_loaded",
    "since",
    "size_text",
    "stack",
    "tag",
    "trouble",
]

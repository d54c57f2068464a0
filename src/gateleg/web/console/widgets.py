"""`Grid`: a table whose rows change in place; on a phone its rows are cards.

`Chart`: lines and bars over time; and sparklines, which are pure.

`LogView`: the lines of a log on a page, scrolled to the end.

JSON for people: indented, coloured and escaped for HTML. Pure, except for `json_block`.

`UploadField` sends files to the application's uploads, in parts and with progress; `FileForm` sends them to any route in one request.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from datetime import UTC
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nicegui import ui
from nicegui.element import Element

from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from nicegui.events import GenericEventArguments

    from gateleg.jobs.tables import LogEntry
    from gateleg.web.console.cells import Column, Row
    from gateleg.web.console.theme import Kind

__all__ = ["UPLOAD_MODULE", "FileForm", "Grid", "UploadField"]


class Grid(Element, component="static/grid.js"):
    """A table on a page: `Grid("Jobs", columns, rows)`, later `grid.show(rows)`.

    A list that is `complete` can be sorted and filtered in place; `filterable=False` is for pages with a search of their own. With
    `on_choose` rows can be selected (also with `x`); it is called with their ids. `on_action` is called with the row's id and the verb of
    a button cell that was pressed. The first column's text links to the row's `href`.
    """

    def __init__(
        self,
        label: str,
        columns: Sequence[Column],
        rows: Sequence[Row] = (),
        *,
        complete: bool = False,
        filterable: bool = True,
        on_choose: Callable[[list[str]], None] | None = None,
        on_action: Callable[[str, str], Awaitable[None] | None] | None = None,
    ) -> None:
        super().__init__()
        self.props["label"] = label
        self.props["columns"] = [asdict(column) for column in columns]
        self.props["complete"] = complete
        self.props["filterable"] = complete and filterable
        self.props["selectable"] = on_choose is not None
        self._rows: tuple[Row, ...] | None = None
        self.show(rows)
        if on_choose is not None:
            choose = on_choose
            self.on("choose", lambda event: choose([str(one) for one in event.args]))
        if on_action is not None:
            button = on_action

            def pressed(event: GenericEventArguments) -> Awaitable[None] | None:
                return button(str(event.args["row"]), str(event.args["verb"]))

            self.on("deed", pressed)

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows; new values are highlighted for a moment, and nothing is sent if nothing has changed."""
        if (shown := tuple(rows)) == self._rows:
            return
        self._rows = shown
        # Rows are replaced and never changed in place, so nothing needs to observe them, which would be most of the cost.
        dict.__setitem__(self.props, "rows", [row.drawn for row in shown])
        self.update()

    def clear_choice(self) -> None:
        """Clear the selection."""
        self.run_method("clear")


@dataclass(frozen=True)
class Series:
    """Values over time, None where there are none. `tone` is a colour of the theme."""

    name: str
    tone: Kind
    values: Sequence[float | None]
    kind: Literal["line", "area", "bar"] = "line"
    dashed: bool = False


class Chart(Element, component="static/chart.js"):
    """A chart on a page. Bars are stacked; `unit` says how values are written."""

    def __init__(self, label: str, *, unit: Literal["count", "seconds"] = "count", height: int = 180) -> None:
        super().__init__()
        self.props["label"] = label
        self.props["unit"] = unit
        self.props["height"] = height
        self.props["times"] = []
        self.props["series"] = []
        self._shown: tuple[list[datetime], list[Series]] | None = None

    def show(self, times: Sequence[datetime], series: Sequence[Series]) -> None:
        """Show these values at these times."""
        if (shown := (list(times), list(series))) == self._shown:
            return
        self._shown = shown
        drawn = {
            "series": [{**asdict(one), "values": list(one.values)} for one in series],
            "times": [time.astimezone(UTC).isoformat().replace("+00:00", "Z") for time in times],
        }
        # As in a grid, values that are never changed in place are not observed.
        dict.update(self.props, drawn)
        self.update()


def spark_svg(values: Sequence[float | None], tone: Kind) -> str:
    """A sparkline with an area below it, 100 wide and 32 high. Without values it is flat."""
    known = [0.0 if value is None else float(value) for value in values] or [0.0]
    known = known * 2 if len(known) == 1 else known
    most = max(*known, 1.0)
    points = [f"{100 * at / (len(known) - 1):.2f} {30 - 26 * value / most:.2f}" for at, value in enumerate(known)]
    path = "L".join(points)
    return (
        f'<svg class="spark" viewBox="0 0 100 32" preserveAspectRatio="none" aria-hidden="true"><path d="M0 32L{path}L100 32Z" '
        f'fill="var(--{tone})" opacity="0.1"/><path d="M{path}" fill="none" stroke="var(--{tone})" stroke-width="1.5" '
        f'vector-effect="non-scaling-stroke" stroke-linejoin="round"/></svg>'
    )


#: The maximum number of lines on a page.
MAX_LINES = 2000


class LogView(Element, component="static/log.js"):
    """The end of a log. `first` is the number of the first line given, counted from 0."""

    def __init__(self, lines: Sequence[LogEntry], first: int = 0, *, empty: str = "No log lines yet.") -> None:
        super().__init__()
        self._seen = first + len(lines)
        self.props["initial"] = drawn_lines(lines, first)
        self.props["empty"] = empty
        self.props["most"] = MAX_LINES

    def show(self, lines: Sequence[LogEntry], first: int = 0) -> None:
        """Append the new lines."""
        fresh = drawn_lines(lines, first)[max(0, self._seen - first) :]
        if fresh:
            self._seen += len(fresh)
            self.run_method("push", fresh)


def drawn_lines(lines: Sequence[LogEntry], first: int = 0) -> list[dict[str, Any]]:
    """Lines in the form that the browser draws, numbered from 1."""
    return [
        {
            "number": first + at + 1,
            "at": line.timestamp.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": line.level,
            "text": line.message,
        }
        for at, line in enumerate(lines)
    ]


_TOKEN = re.compile(r'("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)')


def pretty(value: Any) -> str:
    """A value as indented JSON; values that JSON does not support become text."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def coloured(text: str) -> str:
    """JSON as HTML with spans around names, strings, numbers and words."""
    out, end = [], 0
    for match in _TOKEN.finditer(text):
        out.append(escape(text[end : match.start()]))
        string, colon, word, number = match.groups()
        kind = ("k" if colon else "s") if string else "b" if word else "n"
        out.append(f'<span class="{kind}">{escape(string or word or number)}</span>{colon or ""}')
        end = match.end()
    return "".join([*out, escape(text[end:])])


def by_line(value: dict[str, Any]) -> str:
    """An object as JSON with one line for each member."""
    members = [f"  {json.dumps(name)}: {json.dumps(member, ensure_ascii=False, default=str)}" for name, member in value.items()]
    return "{\n" + ",\n".join(members) + "\n}" if members else "{}"


def json_block(value: Any, label: str, *, lines: bool = False) -> Element:
    """A value on a page, with a button that copies it; with `lines`, an object has one line for each member."""
    text = by_line(value) if lines else pretty(value)
    with tag("div", classes="code-box") as box:
        ui.html(coloured(text), sanitize=False, tag="pre").classes("code").props(f'tabindex=0 role=region aria-label="{label}"')
        tag("button", "Copy", "deed small", type="button", data_copy=text)
    return box


#: The JavaScript module for uploads, for components of applications: `esm=UPLOAD_MODULE`.
UPLOAD_MODULE = {"gateleg-uploads": str(Path(__file__).parent / "static" / "uploads")}
#: Bytes of a part. If the connection breaks, only the last part is sent again.
_PART = 8 * 1024 * 1024


class UploadField(Element, component="static/upload_field.js", esm=UPLOAD_MODULE):
    """Uploads files of a kind: `UploadField("/api/shop/uploads/photo", max_bytes=..., on_uploaded=...)`.

    `on_uploaded` gets the status of each finished upload: `upload_id`, `name`, `key`, `content_type`. `details` are sent along.
    """

    def __init__(
        self,
        address: str,
        *,
        max_bytes: int,
        accept: str = "",
        words: str = "or drop them here",
        multiple: bool = True,
        details: Mapping[str, str] | None = None,
        on_uploaded: Callable[[dict[str, Any]], Any] | None = None,
        part: int = _PART,
    ) -> None:
        super().__init__()
        self.props.update(
            {
                "address": address,
                "maxBytes": max_bytes,
                "accept": accept,
                "words": words,
                "multiple": multiple,
                "details": dict(details or {}),
            }
        )
        self.props["size"] = part
        if on_uploaded is not None:
            self.on("uploaded", lambda event: on_uploaded(event.args))


class FileForm(Element, component="static/file_form.js", esm=UPLOAD_MODULE):
    """Sends files to a route in one request: `FileForm("/api/shop/orders/7/photo", accept="image/*", max_bytes=...)`.

    The page reloads afterwards; an error of the route is shown below the field.
    """

    def __init__(
        self, address: str, *, max_bytes: int, method: str = "PUT", accept: str = "", words: str = "or drop it here", multiple: bool = False
    ) -> None:
        super().__init__()
        self.props.update(
            {"address": address, "method": method, "accept": accept, "words": words, "maxBytes": max_bytes, "multiple": multiple}
        )

"""`Grid`: a table whose rows change in place; on a phone its rows are cards."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from nicegui.element import Element

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from nicegui.events import GenericEventArguments

    from gateleg.web.console.cells import Column, Row

__all__ = ["Grid"]


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

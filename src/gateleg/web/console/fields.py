"""`Field`: a labelled control of a form, with a hint and its error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nicegui.element import Element

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nicegui.events import GenericEventArguments

__all__ = ["Field"]

Control = Literal["text", "number", "password", "search", "date", "datetime-local", "area", "choice", "tick", "ticks"]
#: The value of a field: a text, a bool, or a list of texts.
Content = str | bool | list[str]


class Field(Element, component="static/field.js"):
    """A field: `Field("Title", required=True)`. `value` is its current value: a text, a bool for a `tick`, a list of texts for `ticks`.

    `choices` are pairs of value and label, of which a `choice` takes one and `ticks` any number; `options` are suggested while typing.
    `on_change` is called with the value after every change, `on_enter` when the enter key is pressed.
    """

    def __init__(
        self,
        label: str,
        value: Content = "",
        *,
        kind: Control = "text",
        hint: str = "",
        placeholder: str = "",
        required: bool = False,
        whole: bool = False,
        off: bool = False,
        rows: int = 6,
        choices: Sequence[tuple[str, str]] = (),
        options: Sequence[str] = (),
        least: float | None = None,
        most: float | None = None,
        on_change: Callable[[Any], Any] | None = None,
        on_enter: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__()
        self.value: Content = value
        given: dict[str, Any] = {
            "label": label,
            "name": f"field-{self.id}",
            "kind": kind,
            "value": value,
            "hint": hint,
            "placeholder": placeholder or None,
            "required": required,
            "whole": whole,
            "off": off,
            "rows": rows,
            "choices": [list(choice) for choice in choices],
            "options": list(options),
            "min": least,
            "max": most,
        }
        for name, one in given.items():
            if one is not None:
                self.props[name] = one
        self._on_change = on_change
        self.on("typed", self._on_typed)
        if on_enter is not None:
            self.on("enter", on_enter)

    @property
    def text(self) -> str:
        """The content of the field, stripped."""
        return str(self.value).strip()

    def show_wrong(self, why: str | None) -> None:
        """Show an error, or clear it."""
        if self.props.get("wrong") != why:
            self.props["wrong"] = why
            self.props["value"] = self.value
            self.update()

    def set(self, value: Content) -> None:
        """Set the value."""
        self.value = value
        self.props["value"] = value
        self.props["turn"] = self.props.get("turn", 0) + 1
        self.update()

    def _on_typed(self, event: GenericEventArguments) -> Any:
        self.value = event.args
        # So that a later update of the page does not undo the input.
        with self.props.suspend_updates():
            self.props["value"] = event.args
        return None if self._on_change is None else self._on_change(event.args)

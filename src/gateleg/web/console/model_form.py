"""`ModelForm`: a form that is generated from a pydantic model, with validation errors at their fields."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nicegui import context
from pydantic import BaseModel, ValidationError

from gateleg.web.console.actions import button
from gateleg.web.console.failures import ErrorText, trouble
from gateleg.web.console.fields import Field
from gateleg.web.console.forms import FormField, form_fields, problems_by_field, read_all
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

M = TypeVar("M", bound=BaseModel)


def field_of(form_field: FormField, *, placeholder: str = "") -> Field:
    """The control for one field of a form."""
    return Field(
        form_field.label,
        form_field.start,
        kind=form_field.control,
        hint=form_field.hint,
        placeholder=placeholder,
        required=form_field.required,
        whole=form_field.control in ("area", "ticks"),
        rows=3 if form_field.form == "strings" else 6,
        choices=form_field.choices,
        least=form_field.least,
        most=form_field.most,
    )


class ModelForm(Generic[M]):
    """A form for a model: `ModelForm(Note, save, title="New note")`.

    `on_submit` is called with the valid model, and may be asynchronous. Its errors are shown below the fields, and the input stays.
    `values` are the initial values; other fields start with the model's defaults.
    """

    def __init__(
        self,
        model: type[M],
        on_submit: Callable[[M], Awaitable[Any] | Any],
        *,
        title: str = "",
        submit: str = "Save",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        self._model, self._on_submit = model, on_submit
        self._form_field = form_fields(model, values)
        with tag("section", classes="card stack gap-2 narrow", aria_label=title or submit):
            if title:
                tag("h3", title)
            with tag("div", classes="fields"):
                self.fields = {form_field.name: field_of(form_field) for form_field in self._form_field}
            self._problem = tag("div", classes="fill")
            with tag("div"):
                button(submit, self.submit, look="first")

    def clear(self) -> None:
        """Reset the fields to their defaults."""
        for form_field in self._form_field:
            self.fields[form_field.name].set(form_field.start)

    async def submit(self) -> None:
        """Validate the fields, and call `on_submit` with the model."""
        client = context.client
        made = self.read()
        if made is None:
            return
        try:
            answer = self._on_submit(made)
            if inspect.isawaitable(answer):
                await answer
        except Exception as error:
            with client, self._problem:
                trouble(error)

    def read(self) -> M | None:
        """The model. None if a field is invalid, which is then shown."""
        self._problem.clear()
        values, wrong = read_all(self._form_field, {name: field.value for name, field in self.fields.items()})
        made = None
        if not wrong:
            try:
                made = self._model.model_validate(values)
            except ValidationError as error:
                wrong = problems_by_field([dict(problem) for problem in error.errors()])
        for name, field in self.fields.items():
            field.show_wrong(wrong.get(name))
        for about in [text for name, text in wrong.items() if name not in self.fields]:
            with self._problem:
                trouble(ErrorText(about))
        return made

"""The parts of a key's text: templates parsed into literals and placeholders, and a component for each placeholder.

A component writes an attribute's value as text and parses it back. It also knows whether its texts have a fixed width and whether they sort
like the values, which ranges of keys depend on.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol, get_args, get_origin
from uuid import UUID

from orjson import dumps

from gateleg.model.errors import DelimiterInValue, EmptyKey, FloatInKey, KeyRangeError, KeyValueError, TemplateError
from gateleg.model.times import TimeFormat, time_format
from gateleg.model.types import Declared
from gateleg.model.wire import UUID_SOURCE, to_utc, uuid_text

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?::([^{}]*))?\}")
#: The last character of Unicode: prefix + HIGH is the end of the range of a prefix. Values that contain it are refused.
HIGH = "\U0010ffff"


class Placeholder(NamedTuple):
    """A `{name:format}` in a template."""

    name: str
    format: str = ""

    def __str__(self) -> str:
        return f"{{{self.name}:{self.format}}}" if self.format else f"{{{self.name}}}"


class Template(NamedTuple):
    """A parsed key template. Literals and placeholders alternate, so there is one literal more than placeholders."""

    text: str
    literals: tuple[str, ...]
    placeholders: tuple[Placeholder, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its placeholders, in order."""
        return tuple(placeholder.name for placeholder in self.placeholders)

    @property
    def prefix(self) -> str:
        """The text before the first placeholder; the whole text if there is no placeholder."""
        return self.literals[0]

    @property
    def bare(self) -> bool:
        """Whether it is a single placeholder without a format: such a key stores the attribute's wire value."""
        return len(self.placeholders) == 1 and not any(self.literals) and not self.placeholders[0].format

    @property
    def delimiters(self) -> str:
        """The characters that text values must not contain: those that follow a placeholder, and # if the template uses it anywhere."""
        delimiters = {literal[0] for literal in self.literals[1:] if literal and not literal[0].isalnum()}
        if any("#" in literal for literal in self.literals):
            delimiters.add("#")
        return "".join(sorted(delimiters))


def parse_template(text: str) -> Template:
    """Parse a template; raise `TemplateError` if it is invalid."""
    literals: list[str] = []
    placeholders: list[Placeholder] = []
    position = 0
    for match in _PLACEHOLDER.finditer(text):
        literals.append(text[position : match.start()])
        placeholders.append(Placeholder(match[1], match[2] or ""))
        position = match.end()
    literals.append(text[position:])
    if any("{" in literal or "}" in literal for literal in literals):
        raise TemplateError(f"The template {text!r} has a brace that is not part of a placeholder.")
    if not text:
        raise TemplateError("A template must not be empty.")
    names = [placeholder.name for placeholder in placeholders]
    if len(set(names)) != len(names):
        raise TemplateError(f"The template {text!r} uses an attribute twice.", fix="Use each attribute once.")
    return Template(text, tuple(literals), tuple(placeholders))


def just_before(text: str) -> str:
    """A text that sorts before `text`, but after every smaller text that a key can contain."""
    if not text:
        return text
    code = ord(text[-1]) - 1
    if code < 0:
        return text[:-1]
    if 0xD800 <= code <= 0xDFFF:
        code = 0xD7FF
    return text[:-1] + chr(code) + HIGH


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAST_MICROSECOND = 10**18 - 1
_INTEGER = re.compile(r"0?(\d+)d(:desc)?")
_FIXED = re.compile(r"0?(\d+)\.(\d+)f")


class Component(Protocol):
    """The interface of all components."""

    @property
    def width(self) -> int | None:
        """The length of the texts, if it is the same for all."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether the texts sort like the values (or in reverse, if `descending`)."""
        ...

    @property
    def descending(self) -> bool:
        """Whether greater values have smaller texts."""
        ...

    @property
    def pattern(self) -> str:
        """A regular expression that matches the component's texts."""
        ...

    def render(self, value: Any) -> str:
        """The text of a value; raise a `KeyValueError` if the value does not fit."""
        ...

    def parse(self, text: str) -> Any:
        """The value of a text, in a form that pydantic accepts."""


class TextComponent(NamedTuple):
    """Text, unchanged or converted to lower or upper case."""

    where: str
    delimiters: str
    fold: str = ""
    width: int | None = None
    ordered: bool = True
    descending: bool = False

    @property
    def pattern(self) -> str:
        """Any text without a delimiter."""
        return f"[^{re.escape(self.delimiters)}]+" if self.delimiters else ".+"

    def render(self, value: Any) -> str:
        """The text; empty text and text that contains a delimiter are refused."""
        if not isinstance(value, str):
            raise KeyValueError(f"{self.where} must be a string, got {value!r}.", fix="Pass a value of the attribute's type.")
        if not value:
            raise EmptyKey(f"{self.where} is empty.")
        for delimiter in self.delimiters:
            if delimiter in value:
                raise DelimiterInValue(f"{value!r} contains {delimiter!r}, the delimiter of {self.where}.")
        if HIGH in value:
            raise DelimiterInValue(f"{value!r} contains the last character of Unicode, which marks the end of ranges of {self.where}.")
        return _folded(str(value), self.fold)

    def parse(self, text: str) -> str:
        return text


def _folded(text: str, fold: str) -> str:
    if fold == "lower":
        return text.lower()
    return text.upper() if fold == "upper" else text


class IntegerComponent(NamedTuple):
    """A whole number, zero-padded if it has a width, so that it sorts numerically."""

    where: str
    width: int | None = None
    descending: bool = False

    @property
    def ordered(self) -> bool:
        """Whether it has a width: unpadded numbers do not sort numerically."""
        return self.width is not None

    @property
    def pattern(self) -> str:
        return rf"\d{{{self.width}}}" if self.width else r"-?\d+"

    def render(self, value: Any) -> str:
        """The digits; a number that does not fit the width is refused."""
        if self.width is None:
            return str(int(value))
        limit = 10**self.width
        if not 0 <= value < limit:
            raise KeyRangeError(f"{value} does not fit {self.where}, which allows 0 to {limit - 1}.")
        return str(limit - 1 - value if self.descending else int(value)).zfill(self.width)

    def parse(self, text: str) -> int:
        return 10 ** (self.width or 0) - 1 - int(text) if self.descending else int(text)


def render_source(component: Component, v: str, render: str) -> str:
    """Source for the text of the expression `v`; `render` is the name that the source uses for `component.render`.

    The most frequent values (valid plain text, padded numbers, UUIDs) are rendered without a function call. The source uses orjson's
    `dumps`.
    """
    if isinstance(component, TextComponent) and not component.fold and len(component.delimiters) == 1:
        valid = f"type(t := {v}) is str and t and {component.delimiters!r} not in t and {HIGH!r} not in t"
        return f"(t if {valid} else {render}(t))"
    if isinstance(component, IntegerComponent) and component.width and not component.descending:
        return f"(str(t).zfill({component.width}) if type(t := {v}) is int and 0 <= t < {10**component.width} else {render}(t))"
    if isinstance(component, UuidComponent):
        return UUID_SOURCE.format(v)
    return f"{render}({v})"


def compile_render(component: Component) -> Callable[[Any], str]:
    """A compiled function, equivalent to `component.render` but faster."""
    compiled: Callable[[Any], str] = eval(
        f"lambda v: {render_source(component, 'v', 'render')}", {"render": component.render, "dumps": dumps}
    )
    return compiled


class FixedComponent(NamedTuple):
    """A zero-padded number with a fixed number of decimal places."""

    where: str
    width: int
    places: int
    ordered: bool = True
    descending: bool = False

    @property
    def pattern(self) -> str:
        """Digits, a point, digits."""
        return rf"\d{{{self.width - self.places - 1}}}\.\d{{{self.places}}}"

    def render(self, value: Any) -> str:
        """The digits; a negative number, one that is too wide and one that would have to be rounded are refused."""
        exact = value if isinstance(value, Decimal) else Decimal(str(value))
        text = format(exact, f"0{self.width}.{self.places}f") if exact.is_finite() else ""
        if not text or exact < 0 or len(text) != self.width or Decimal(text) != exact:
            raise KeyRangeError(f"{value} does not fit {self.where} exactly.")
        return text

    def parse(self, text: str) -> Decimal:
        return Decimal(text)


class TimeComponent(NamedTuple):
    """A time: in the attribute's format, or as microseconds counted down, so that the newest sorts first."""

    where: str
    descending: bool = False
    format: TimeFormat = TimeFormat.ISO

    @property
    def ordered(self) -> bool:
        """Whether the format sorts chronologically."""
        return self.descending or self.format.ordered

    @property
    def width(self) -> int | None:
        """18 digits, or the width of the format."""
        return 18 if self.descending else self.format.width

    @property
    def pattern(self) -> str:
        """The format that it writes, and the formats that other programs write."""
        return r"\d{18}" if self.descending else self.format.forms

    def render(self, value: Any) -> str:
        """The text of an aware datetime."""
        if not self.descending:
            return self.format.text(value)
        count = (to_utc(value) - _EPOCH) // _MICROSECOND
        if not 0 <= count <= _LAST_MICROSECOND:
            raise KeyRangeError(f"{value} does not fit {self.where}, which cannot store times before 1970.")
        return str(_LAST_MICROSECOND - count).zfill(18)

    def parse(self, text: str) -> datetime:
        if self.descending:
            return _EPOCH + (_LAST_MICROSECOND - int(text)) * _MICROSECOND
        return self.format.read(text)


class DateComponent(NamedTuple):
    """A date, or the date of a datetime, as YYYY-MM-DD."""

    where: str
    width: int = 10
    ordered: bool = True
    descending: bool = False
    pattern: str = r"\d{4}-\d\d-\d\d"

    def render(self, value: Any) -> str:
        """The date in UTC."""
        return (to_utc(value).date() if isinstance(value, datetime) else value).isoformat()

    def parse(self, text: str) -> str:
        """The text, which pydantic converts."""
        return text


class UuidComponent(NamedTuple):
    """A UUID in its usual 36 characters."""

    where: str
    width: int = 36
    ordered: bool = True
    descending: bool = False
    pattern: str = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

    def render(self, value: Any) -> str:
        return uuid_text(value)

    def parse(self, text: str) -> UUID:
        return UUID(text)


class ChoiceComponent(NamedTuple):
    """One of a few known texts: an enumeration, a literal or a boolean."""

    where: str
    texts: tuple[tuple[Any, str], ...]
    ordered: bool = True
    descending: bool = False

    @property
    def width(self) -> int | None:
        """The length of the texts, if it is the same for all."""
        lengths = {len(text) for _, text in self.texts}
        return lengths.pop() if len(lengths) == 1 else None

    @property
    def pattern(self) -> str:
        """The choices, longest first."""
        return "|".join(re.escape(text) for text in sorted((text for _, text in self.texts), key=len, reverse=True))

    def render(self, value: Any) -> str:
        """The text of a choice."""
        for choice, text in self.texts:
            if choice == value:
                return text
        raise KeyValueError(f"{value!r} is not one of the values of {self.where}.", fix="Use a declared value.")

    def parse(self, text: str) -> Any:
        return next(choice for choice, known in self.texts if known == text)


def build_component(placeholder: Placeholder, template: Template, declared: Declared) -> Component:
    """Choose the component for an attribute's type and the placeholder's format."""
    where, kind = f"{placeholder} of {template.text!r}", declared.type
    if isinstance(kind, type) and hasattr(kind, "__key_component__"):
        nested: Component = kind.__key_component__(where)
        return nested
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choices(where, template, [(member, str(member.value)) for member in kind])
    if get_origin(kind) is Literal:
        return _choices(where, template, [(value, str(value)) for value in get_args(kind)])
    if kind is bool:
        return _choices(where, template, [(False, "false"), (True, "true")])
    if not isinstance(kind, type):
        raise TemplateError(f"{where}: a key cannot contain {kind}.", fix="Use text, whole numbers, times, UUIDs or enumerations in keys.")
    if issubclass(kind, datetime) and placeholder.format == "":
        return TimeComponent(where, format=time_format(declared.metadata))
    return _scalar_component(where, placeholder.format, template, kind)


def _scalar_component(where: str, form: str, template: Template, kind: type) -> Component:
    if issubclass(kind, datetime) and form == "desc":
        return TimeComponent(where, descending=True)
    if issubclass(kind, date) and form in ("", "date"):
        return DateComponent(where)
    if issubclass(kind, UUID) and not form:
        return UuidComponent(where)
    if issubclass(kind, str) and form in ("", "lower", "upper"):
        return TextComponent(where, template.delimiters, form)
    if issubclass(kind, int):
        if not form:
            return IntegerComponent(where)
        if match := _INTEGER.fullmatch(form):
            return IntegerComponent(where, int(match[1]), descending=bool(match[2]))
    if issubclass(kind, float | Decimal):
        if match := _FIXED.fullmatch(form):
            return FixedComponent(where, int(match[1]), int(match[2]))
        raise FloatInKey(f"{where} is a {kind.__name__} without a fixed format.")
    raise TemplateError(f"{where}: {kind.__name__} has no key format {form!r}.", fix=_FORMATS)


def _choices(where: str, template: Template, texts: list[tuple[Any, str]]) -> ChoiceComponent:
    for _, text in texts:
        if any(delimiter in text for delimiter in template.delimiters):
            raise TemplateError(f"{where}: the value {text!r} contains a delimiter.", fix="Use another delimiter in the template.")
    return ChoiceComponent(where, tuple(texts))


_FORMATS = (
    "Use 03d or 03d:desc for whole numbers, 012.2f for decimals, desc or date for times, lower or upper for text; "
    "UUIDs and enumerations have no format."
)

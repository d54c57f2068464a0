"""Parse key templates into literals and placeholders, without knowledge of the attributes."""

import re
from dataclasses import dataclass

from gateleg.model.errors import TemplateError

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?::([^{}]*))?\}")
#: The last character of Unicode: prefix + HIGH is the end of the range of a prefix. Values that contain it are refused.
HIGH = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A `{name:format}` in a template."""

    name: str
    format: str = ""

    def __str__(self) -> str:
        return f"{{{self.name}:{self.format}}}" if self.format else f"{{{self.name}}}"


@dataclass(frozen=True, slots=True)
class Template:
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
        found = {literal[0] for literal in self.literals[1:] if literal and not literal[0].isalnum()}
        if any("#" in literal for literal in self.literals):
            found.add("#")
        return "".join(sorted(found))


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

"""The text of key templates: literals and placeholders, before anything is known about the attributes they name."""

import re
from dataclasses import dataclass

from gateleg.model.errors import TemplateError

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?::([^{}]*))?\}")
#: Sorts after every other character, so prefix + HIGH is the end of a prefix's range. Values that hold it are refused.
HIGH = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One `{name:format}` of a template."""

    name: str
    format: str = ""

    def __str__(self) -> str:
        return f"{{{self.name}:{self.format}}}" if self.format else f"{{{self.name}}}"


@dataclass(frozen=True, slots=True)
class Template:
    """A key template taken apart: one more literal than placeholders, so that they alternate."""

    text: str
    literals: tuple[str, ...]
    placeholders: tuple[Placeholder, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes it mentions, in order."""
        return tuple(placeholder.name for placeholder in self.placeholders)

    @property
    def prefix(self) -> str:
        """The literal text before the first placeholder; all of it when there is none."""
        return self.literals[0]

    @property
    def bare(self) -> bool:
        """Whether it is one placeholder and nothing else: such a key holds the attribute's own wire value."""
        return len(self.placeholders) == 1 and not any(self.literals) and not self.placeholders[0].format

    @property
    def delimiters(self) -> str:
        """The characters that no text value may hold: what follows a placeholder, and # wherever it is used."""
        found = {literal[0] for literal in self.literals[1:] if literal and not literal[0].isalnum()}
        if any("#" in literal for literal in self.literals):
            found.add("#")
        return "".join(sorted(found))


def parse_template(text: str) -> Template:
    """Take a template apart, or say what is wrong with it."""
    literals: list[str] = []
    placeholders: list[Placeholder] = []
    position = 0
    for match in _PLACEHOLDER.finditer(text):
        literals.append(text[position : match.start()])
        placeholders.append(Placeholder(match[1], match[2] or ""))
        position = match.end()
    literals.append(text[position:])
    if any("{" in literal or "}" in literal for literal in literals):
        raise TemplateError(f"The template {text!r} has a brace that belongs to no placeholder.")
    if not text:
        raise TemplateError("A template is not empty.")
    names = [placeholder.name for placeholder in placeholders]
    if len(set(names)) != len(names):
        raise TemplateError(f"The template {text!r} names an attribute twice.", fix="Name each attribute once.")
    return Template(text, tuple(literals), tuple(placeholders))


def just_before(text: str) -> str:
    """A text that sorts after everything smaller than `text` that keys can hold, and before `text`."""
    if not text:
        return text
    code = ord(text[-1]) - 1
    if code < 0:
        return text[:-1]
    if 0xD800 <= code <= 0xDFFF:
        code = 0xD7FF
    return text[:-1] + chr(code) + HIGH

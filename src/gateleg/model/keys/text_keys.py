"""Text keys: templates with typed components. They build, parse and bound the text of one key attribute."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gateleg.model.attributes.annotations import Declared
from gateleg.model.errors import KeyMismatch, MissingComponent, TemplateError
from gateleg.model.keys.components import Component, build_component, compile_render
from gateleg.model.keys.templates import HIGH, Template, just_before


@dataclass(frozen=True)
class TextKey:
    """A key template whose placeholders are resolved to components."""

    template: Template
    components: tuple[Component, ...]

    def build(self, values: Mapping[str, Any]) -> str:
        """The whole text; raise `MissingComponent` if a component is missing."""
        text, count = self.build_prefix(values)
        if count < len(self.components):
            missing = [name for name in self.template.names if values.get(name) is None]
            raise MissingComponent(f"The key {self.template.text!r} needs {', '.join(missing)}.", fix="Pass all its components.")
        return text

    @cached_property
    def _steps(self) -> tuple[tuple[str, Callable[[Any], str], str], ...]:
        """For each component: its name, its render function, and the literal after it."""
        renderers = (compile_render(component) for component in self.components)
        return tuple(zip(self.template.names, renderers, self.template.literals[1:], strict=True))

    def build_prefix(self, values: Mapping[str, Any]) -> tuple[str, int]:
        """The text up to the first missing component, and the number of components before it.

        The literal before the missing component is included, so that the prefix for f34 does not match f340.
        """
        text, count = self.template.literals[0], 0
        for name, render, literal in self._steps:
            value = values.get(name)
            if value is None:
                return text, count
            text += render(value) + literal
            count += 1
        return text, count

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        text = re.escape(self.template.literals[0])
        for component, literal in zip(self.components, self.template.literals[1:], strict=True):
            text += f"({component.pattern})" + re.escape(literal)
        return re.compile(text, re.DOTALL)

    def matches(self, text: str) -> bool:
        """Whether the text matches the template."""
        return self._regex.fullmatch(text) is not None

    def parse(self, text: str) -> dict[str, Any]:
        """The values of the components, in a form that pydantic accepts; raise `KeyMismatch` if the text does not match."""
        match = self._regex.fullmatch(text)
        if match is None:
            raise KeyMismatch(f"{text!r} does not match the key template {self.template.text!r}.")
        groups = zip(self.template.names, self.components, match.groups(), strict=True)
        return {name: component.parse(group) for name, component, group in groups}

    def range_of(self, prefix: str, at: int, operator: str, values: tuple[Any, ...]) -> tuple[str, ...]:
        """The condition on the whole text that is equivalent to a comparison of component number `at`; `prefix` is the text before it.

        Returns the operator and its operands: `("BETWEEN", low, high)`, `(">=", low)`, `("begins_with", prefix)`, ...
        """
        component = self.components[at]
        tail = HIGH if at + 1 < len(self.components) or self.template.literals[at + 1] else ""
        if operator == "begins_with":
            return ("begins_with", prefix + str(values[0]))
        texts = [prefix + component.render(value) for value in values]
        if operator == "=":
            return ("begins_with", texts[0] + self.template.literals[at + 1]) if tail else ("=", texts[0])
        if operator == "BETWEEN":
            low, high = reversed(texts) if component.descending else texts
            return ("BETWEEN", low, high + tail)
        if component.descending:
            operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[operator]
        if not prefix:
            return (operator, texts[0] + tail if operator in ("<=", ">") else texts[0])
        if operator == ">=":
            return ("BETWEEN", texts[0], prefix + HIGH)
        if operator == ">":
            return ("BETWEEN", texts[0] + HIGH if tail else texts[0] + "\x00", prefix + HIGH)
        return ("BETWEEN", prefix, texts[0] + tail if operator == "<=" else just_before(texts[0]))


def build_text_key(template: Template, declared: Callable[[str], Declared]) -> TextKey:
    """Resolve a template's placeholders by the declared types of their attributes."""
    components = tuple(build_component(placeholder, template, declared(placeholder.name)) for placeholder in template.placeholders)
    for at, component in enumerate(components[:-1]):
        literal = template.literals[at + 1]
        if component.width is None and (not literal or literal[0].isalnum()):
            raise TemplateError(
                f"In {template.text!r} nothing separates {template.placeholders[at]} from {template.placeholders[at + 1]}.",
                fix="Put a delimiter such as # between them.",
            )
    return TextKey(template, components)

"""Checks of wizards against their schemas, and of answers against the elements of a wizard.

Pure, except that regular expressions are applied in a process with limits: tenants write them.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadField, BadWizard
from gateleg.apps.agents.patterns import check_patterns
from gateleg.apps.agents.wizards.criteria import is_fulfilled
from gateleg.processes import Matching, match_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateleg.apps.agents.catalogue_tables import WizardSchema
    from gateleg.apps.agents.tables import Wizard, WizardElement

#: The maximum length in characters of an answer that has to match a pattern.
LONGEST_ANSWER = 500
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(date.fromisoformat(value[:10])) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


#: The Python types of attribute values by schema type. Types that are not listed accept every value.
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("string", "text", "textarea", "email", "url", "password"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("integer", "int"), lambda value: isinstance(value, int) and not isinstance(value, bool)),
    **dict.fromkeys(("number", "float", "decimal"), _is_number),
    **dict.fromkeys(("boolean", "bool", "checkbox"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("list", "array", "multiselect"), lambda value: isinstance(value, list)),
    **dict.fromkeys(("object", "map", "json"), lambda value: isinstance(value, dict)),
    **dict.fromkeys(("date", "datetime"), _is_date),
}


async def check_schema(attributes: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a schema with unnamed or duplicate attributes, or with an invalid pattern."""
    names = [one.get("name") for one in attributes]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise BadField("Every attribute of a schema needs a unique name.", details={"field": "attributes"})
    await check_patterns([str(one["pattern"]) for one in attributes if one.get("pattern")])


async def check_wizard(wizard: Wizard, schema: WizardSchema) -> None:
    """Refuse a wizard whose attributes do not match its schema. The error lists all problems."""
    known = {str(one["name"]): one for one in schema.attributes if one.get("name")}
    given = {str(one.get("name")): one.get("value") for one in wizard.wizard_attributes}
    problems = {name: "is not an attribute of the schema" for name in given if known and name not in known}
    patterned: list[tuple[str, str, Any]] = []
    for name, attribute in known.items():
        problem, pattern = _attribute_problem(attribute, given.get(name)), attribute.get("pattern")
        if problem is not None:
            problems[name] = problem
        elif pattern and given.get(name) not in _EMPTY:
            patterned.append((name, str(pattern), given[name]))
    problems |= await _pattern_problems(patterned)
    if problems:
        listed = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        raise BadWizard(f"The wizard does not match {schema.wizard_schema_name!r}: {listed}.", details={"attributes": problems})


def _attribute_problem(attribute: Mapping[str, Any], value: Any) -> str | None:
    if value in _EMPTY:
        return "is required" if attribute.get("required") else None
    return _value_problem(value, attribute.get("attribute_type"), attribute.get("options") or ())


def _value_problem(value: Any, kind: Any, options: Sequence[Any]) -> str | None:
    fits = _TYPES.get(str(kind).lower())
    if fits is not None and not fits(value):
        return f"must be of the type {kind}"
    choices = [one.get("value", one.get("label")) if isinstance(one, dict) else one for one in options]
    if choices and not all(one in choices for one in _values(value)):
        return f"must be one of {', '.join(map(str, choices))}"
    return None


def _values(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


async def _pattern_problems(patterned: Sequence[tuple[str, str, Any]]) -> dict[str, str]:
    """Problems of values that do not match their patterns, by name. Each pattern has to match the whole value."""
    texts = [(name, pattern, str(one)) for name, pattern, value in patterned for one in _values(value)]
    problems = {name: "does not match its pattern" for name, _, text in texts if len(text) > LONGEST_ANSWER}
    texts = [entry for entry in texts if entry[0] not in problems]
    matched = await match_patterns([Matching(pattern, text, whole=True) for _, pattern, text in texts])
    for (name, _, _), matches in zip(texts, matched, strict=True):
        if not matches:
            problems[name] = "does not match its pattern" if matches is False else "cannot be checked: its pattern takes too long"
    return problems


async def check_element(element: WizardElement) -> None:
    """Refuse an element with an invalid pattern or invalid conditions."""
    if element.pattern:
        await check_patterns([element.pattern])
    for condition in element.conditions:
        _condition_holds(condition, {})


async def answer_problems(wizard: Wizard, elements: Mapping[str, WizardElement], answers: Mapping[str, Any]) -> dict[str, str]:
    """Problems of the answers to a wizard, by attribute. Elements whose conditions do not hold are not asked."""
    problems: dict[str, str] = {}
    patterned: list[tuple[str, str, Any]] = []
    asked = set()
    for entry in wizard.wizard_elements:
        element = elements.get(str(entry.get("element_uuid")))
        if element is None or not is_asked(element, answers):
            continue
        asked.add(element.attribute_name)
        value = answers.get(element.attribute_name)
        if value in _EMPTY:
            problem = "must be answered" if entry.get("required") else None
        else:
            problem = _value_problem(value, element.attribute_type, element.option_values)
        if problem is not None:
            problems[element.attribute_name] = problem
        elif element.pattern and value not in _EMPTY:
            patterned.append((element.attribute_name, element.pattern, value))
    return problems | await _pattern_problems(patterned) | {name: "is not asked" for name in answers if name not in asked}


def is_asked(element: WizardElement, answers: Mapping[str, Any]) -> bool:
    """Whether an element is shown for these answers: all its conditions hold."""
    return all(_condition_holds(condition, answers) for condition in element.conditions)


def _condition_holds(condition: Mapping[str, Any], answers: Mapping[str, Any]) -> bool:
    name = condition.get("attribute_name", condition.get("name"))
    if not isinstance(name, str) or not name:
        raise BadField("A condition needs the name of its attribute.", details={"field": "conditions"})
    if "operator" in condition:
        return is_fulfilled({"operator": condition["operator"], "value": condition.get("value")}, answers.get(name))
    return is_fulfilled(condition.get("value"), answers.get(name))

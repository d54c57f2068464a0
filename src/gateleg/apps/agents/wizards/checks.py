"""Checks of wizards against their schemas, and of answers against the elements of a wizard. Pure."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import BadField, BadWizard
from gateleg.apps.agents.wizards.criteria import is_fulfilled
from gateleg.apps.agents.wizards.patterns import compiled, matches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateleg.apps.agents.catalogue_tables import WizardSchema
    from gateleg.apps.agents.tables import Wizard, WizardElement

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


def check_schema(attributes: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a schema with unnamed or duplicate attributes, or with an invalid pattern."""
    names = [one.get("name") for one in attributes]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise BadField("Every attribute of a schema needs a unique name.", details={"field": "attributes"})
    for one in attributes:
        if one.get("pattern"):
            compiled(str(one["pattern"]))


def check_wizard(wizard: Wizard, schema: WizardSchema) -> None:
    """Refuse a wizard whose attributes do not match its schema. The error lists all problems."""
    known = {str(one["name"]): one for one in schema.attributes if one.get("name")}
    given = {str(one.get("name")): one.get("value") for one in wizard.wizard_attributes}
    problems = {name: "is not an attribute of the schema" for name in given if known and name not in known}
    for name, attribute in known.items():
        problem = _attribute_problem(attribute, given.get(name))
        if problem is not None:
            problems[name] = problem
    if problems:
        listed = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        raise BadWizard(f"The wizard does not match {schema.wizard_schema_name!r}: {listed}.", details={"attributes": problems})


def _attribute_problem(attribute: Mapping[str, Any], value: Any) -> str | None:
    if value in _EMPTY:
        return "is required" if attribute.get("required") else None
    return _value_problem(value, attribute.get("attribute_type"), attribute.get("options") or (), attribute.get("pattern"))


def _value_problem(value: Any, kind: Any, options: Sequence[Any], pattern: Any) -> str | None:
    fits = _TYPES.get(str(kind).lower())
    if fits is not None and not fits(value):
        return f"must be of the type {kind}"
    choices = [one.get("value", one.get("label")) if isinstance(one, dict) else one for one in options]
    chosen = value if isinstance(value, list) else [value]
    if choices and not all(one in choices for one in chosen):
        return f"must be one of {', '.join(map(str, choices))}"
    if pattern and not all(matches(str(pattern), one if isinstance(one, str) else str(one)) for one in chosen):
        return "does not match its pattern"
    return None


def check_element(element: WizardElement) -> None:
    """Refuse an element with an invalid pattern or invalid conditions."""
    if element.pattern:
        compiled(element.pattern)
    for condition in element.conditions:
        _condition_holds(condition, {})


def answer_problems(wizard: Wizard, elements: Mapping[str, WizardElement], answers: Mapping[str, Any]) -> dict[str, str]:
    """Problems of the answers to a wizard, by attribute. Elements whose conditions do not hold are not asked."""
    problems: dict[str, str] = {}
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
            problem = _value_problem(value, element.attribute_type, element.option_values, element.pattern)
        if problem is not None:
            problems[element.attribute_name] = problem
    return problems | {name: "is not asked" for name in answers if name not in asked}


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

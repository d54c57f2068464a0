"""The forms of evaluation: an evaluation set, and the versions to compare."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from gateleg.apps.agents.evaluating.cases import Case
from gateleg.apps.agents.evaluation_tables import MOST_CASES
from gateleg.apps.agents.tables import Agent, VersionStatus

__all__ = ["SetForm", "VersionsForm", "versions_form"]

_EXAMPLE = '[{"question": "What is two and two?", "checks": [{"kind": "contains", "text": "four"}]}]'


class SetForm(BaseModel):
    """The form of an evaluation set."""

    name: str = Field(title="Name", min_length=1, max_length=200)
    cases: list[Case] = Field(
        title="Questions",
        min_length=1,
        max_length=MOST_CASES,
        description=f"As JSON: {_EXAMPLE}. Checks are contains (text), matches (pattern), equals (value) and judged (criterion)",
    )


class VersionsForm(BaseModel):
    """The form with the versions to compare. `versions_form` sets the choices."""

    first: str = Field(title="First version")
    second: str = Field(title="Second version")


def versions_form(versions: Sequence[Agent]) -> type[VersionsForm]:
    """The form with the versions of an agent as choices."""
    labels = {one.agent_version_uuid: _words(one) for one in versions}
    chosen: Any = Literal[tuple(labels)]
    other: Any = Literal[("", *labels)]
    worded: Any = {"labels": {"": "none: only one version", **labels}}
    return create_model(
        "VersionsForm",
        __base__=VersionsForm,
        first=(chosen, Field(title="First version", json_schema_extra=worded)),
        second=(other, Field(default="", title="Second version", json_schema_extra=worded)),
    )


def _words(version: Agent) -> str:
    active = ", active" if version.status is VersionStatus.ACTIVE else ""
    return f"of {version.created_at:%Y-%m-%d %H:%M:%S} by {version.updated_by}{active}"

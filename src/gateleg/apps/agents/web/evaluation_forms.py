"""The forms of evaluation: a set of questions with checks, and which versions of an agent are asked."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from gateleg.apps.agents.evaluating.cases import Case
from gateleg.apps.agents.evaluation_tables import MOST_CASES
from gateleg.apps.agents.tables import Agent, VersionStatus

__all__ = ["SetForm", "VersionsForm", "versions_form"]

_EXAMPLE = '[{"question": "What is two and two?", "checks": [{"kind": "contains", "text": "four"}]}]'


class SetForm(BaseModel):
    """What a set of questions is asked for on its page."""

    name: str = Field(title="Name", min_length=1, max_length=200)
    cases: list[Case] = Field(
        title="Questions",
        min_length=1,
        max_length=MOST_CASES,
        description=f"As JSON: {_EXAMPLE}. Checks are contains (text), matches (pattern), equals (value) and judged (criterion)",
    )


class VersionsForm(BaseModel):
    """Which versions of an agent are compared. `versions_form` has the choices."""

    first: str = Field(title="First version")
    second: str = Field(title="Second version")


def versions_form(versions: Sequence[Agent]) -> type[VersionsForm]:
    """The form with the versions of an agent to choose from."""
    labels = {one.agent_version_uuid: _words(one) for one in versions}
    chosen: Any = Literal[tuple(labels)]
    other: Any = Literal[("", *labels)]
    worded: Any = {"labels": {"": "none: one version alone", **labels}}
    return create_model(
        "VersionsForm",
        __base__=VersionsForm,
        first=(chosen, Field(title="First version", json_schema_extra=worded)),
        second=(other, Field(default="", title="Second version", json_schema_extra=worded)),
    )


def _words(version: Agent) -> str:
    active = ", active" if version.status is VersionStatus.ACTIVE else ""
    return f"of {version.created_at:%Y-%m-%d %H:%M:%S} by {version.updated_by}{active}"

"""The GraphQL in the documentation fits the schema."""

import re
from pathlib import Path

import pytest
from graphql import parse, validate

from gateleg.apps.agents.graphql.enum_texts import with_enums
from tests.apps.agents.graphql.operations import SCHEMA

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "agents-graphql.md"
EXAMPLES = re.findall(r"^```graphql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("(")[0])
def test_an_example_fits_the_schema(example: str) -> None:
    assert validate(SCHEMA, with_enums(SCHEMA, parse(example))) == []

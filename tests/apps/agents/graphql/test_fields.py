from datetime import UTC, datetime
from typing import Any

import pytest
from strawberry.types.unset import UNSET

from gateleg.apps.agents.graphql.fields import stored_arguments
from gateleg.apps.agents.graphql.item_mutations import with_cleared_defaults
from gateleg.apps.agents.tables import Agent


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"self": 1, "info": 2, "agent_name": "A", "instructions": UNSET}, {"agent_name": "A"}),
        ({"instructions": None, "agent_description": "null"}, {"instructions": None, "agent_description": None}),
        ({"configuration": {"maxTokens": 1, "X-Y": 2}}, {"configuration": {"max_tokens": 1, "X-Y": 2}}),
        ({"headers": {"xApiKey": "1"}}, {"headers": {"xApiKey": "1"}}),
        ({"updated_at_gt": datetime(2026, 1, 2)}, {"updated_at_gt": datetime(2026, 1, 2, tzinfo=UTC)}),
    ],
)
def test_what_a_client_gives_is_taken_as_it_is_stored(arguments: dict[str, Any], found: dict[str, Any]) -> None:
    assert stored_arguments(arguments) == found


def test_the_text_null_stays_where_texts_are_what_people_said() -> None:
    assert stored_arguments({"message": "null"}, clearing=False) == {"message": "null"}


def test_what_is_cleared_is_empty_where_it_cannot_be_null() -> None:
    cleared = {"agent_uuid": None, "agent_version_uuid": None, "agent_name": None, "mcp_server_uuids": None, "instructions": None}
    assert with_cleared_defaults(Agent, cleared) == {"agent_name": None, "mcp_server_uuids": [], "instructions": None}

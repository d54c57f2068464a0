"""The whole schema: queries, mutations and subscriptions."""

from __future__ import annotations

import strawberry
from strawberry.schema.config import StrawberryConfig

from gateleg.apps.agents.graphql.additions import AddedMutations, AddedQueries
from gateleg.apps.agents.graphql.agent_mutations import AgentMutations
from gateleg.apps.agents.graphql.agent_queries import AgentQueries
from gateleg.apps.agents.graphql.checks import AgentsSchema
from gateleg.apps.agents.graphql.fields import read_attribute
from gateleg.apps.agents.graphql.file_fields import FileMutations, FileQueries
from gateleg.apps.agents.graphql.limits import Limits
from gateleg.apps.agents.graphql.questions import AskingMutations, AskingQueries, Subscription
from gateleg.apps.agents.graphql.scalars import JSON, JSON_SCALAR
from gateleg.apps.agents.graphql.thread_mutations import ThreadMutations
from gateleg.apps.agents.graphql.thread_queries import ThreadQueries
from gateleg.apps.agents.graphql.wizard_mutations import WizardMutations
from gateleg.apps.agents.graphql.wizard_queries import WizardQueries


@strawberry.type(description="Queries.")
class Query(AgentQueries, ThreadQueries, AskingQueries, FileQueries, WizardQueries, AddedQueries):
    """All queries."""


@strawberry.type(name="Mutations", description="Mutations.")
class Mutation(AgentMutations, ThreadMutations, AskingMutations, FileMutations, WizardMutations, AddedMutations):
    """All mutations."""


def make_schema(limits: Limits | None = None) -> AgentsSchema:
    """Build the schema. It is independent of the host, which resolvers find in their context."""
    config = StrawberryConfig(scalar_map={JSON: JSON_SCALAR}, default_resolver=read_attribute)
    return AgentsSchema(Query, Mutation, Subscription, limits=limits or Limits(), config=config)

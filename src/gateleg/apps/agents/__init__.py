"""Agents for many tenants: versioned agents, prompts and flows, threads with their runs, tools and wizards, each in its tenant's partition.

`tables` declares the data, `tenancy` assembles the partition of a request, once. Every function of the services takes a store and the
`Context` of the request, and reads and writes within its partition.
"""

from gateleg.apps.agents.errors import AgentsError
from gateleg.apps.agents.tenancy import Asked, Context, Partition, assemble

__all__ = ["AgentsError", "Asked", "Context", "Partition", "assemble"]

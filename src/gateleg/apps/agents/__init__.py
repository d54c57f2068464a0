"""A multi-tenant agent engine: versioned agents, prompts and flows, threads with their runs, tools, and wizards.

`tables` declares the data; `tenancy` derives the partition of a request in one place. Every use case in `service` takes a store and the
request's `Context`, and reads and writes only within that partition.
"""

from gateleg.apps.agents.errors import AgentsError
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tenancy import Context, RequestedTenant, assemble

__all__ = ["AgentsError", "Context", "Partition", "RequestedTenant", "assemble"]

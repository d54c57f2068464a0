"""The tenant of a request: its partition, derived once, and the `Context` that carries it.

`assemble` is the only place that derives a partition from a request:

    context = assemble(principal, settings, RequestedTenant(part_id=request.headers.get("X-Part-ID")))
    agent = await find_agent(store, context, agent_uuid)

The tenant of an API key is its `part_id`; a key with a tenant works only in that partition. Operators and admins of the host have keys
without a tenant and may name any part and endpoint. Members without a tenant work in the part that has the endpoint's own name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import BadPartition, ForeignPart
from gateleg.apps.agents.partitions import Partition, check_name
from gateleg.host import Role

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Principal

#: The HTTP header that carries the `part_id`.
PART_HEADER = "X-Part-ID"


def header_text(value: str | None, field: str) -> str | None:
    """Decode a header value as UTF-8; ASGI servers deliver headers as Latin-1. Raises `BadPartition`."""
    if value is None or value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        raise BadPartition(f"{field} is not in UTF-8.", details={"field": field}) from None


@dataclass(frozen=True, slots=True)
class RequestedTenant:
    """The tenant that a request names in its headers, body or arguments. Untrusted: `assemble` checks it against the caller."""

    endpoint_id: str | None = None
    part_id: str | None = None
    connection_id: str | None = None
    #: the end user on whose behalf the caller acts
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """The tenant and the caller of a request, passed to everything below `assemble`."""

    partition: Partition
    #: the caller; new threads belong to its `owner`
    principal: Principal
    #: the end user; a label only, it grants no rights
    user_id: str
    #: the connection that answers are streamed to
    connection_id: str | None = None
    #: whether the key or the request named a part, as opposed to the endpoint's own
    part_given: bool = False
    #: whether the caller may change the tenant's agents, prompts, flows, servers and wizards
    edits: bool = True

    @property
    def partition_key(self) -> str:
        """The composite key: `endpoint_id#part_id`."""
        return str(self.partition)

    @property
    def endpoint_id(self) -> str:
        """The platform."""
        return self.partition.endpoint_id

    @property
    def part_id(self) -> str:
        """The business."""
        return self.partition.part_id

    @property
    def owner(self) -> str:
        """The owner id of threads, runs, messages and tool calls that the caller creates: the API key with its tenant."""
        return self.principal.owner

    @property
    def sees_all(self) -> bool:
        """Whether the caller sees the threads of other users in the partition."""
        return self.principal.may(Role.VIEWER)

    @property
    def changes_all(self) -> bool:
        """Whether the caller may change the threads of other users in the partition."""
        return self.principal.may(Role.OPERATOR)


def assemble(principal: Principal, settings: AgentsSettings, requested: RequestedTenant | None = None) -> Context:
    """Build the context of a request. Raises `BadPartition` and `ForeignPart`.

    `endpoint_id` and `connection_id` come from the request or the settings; `part_id` from the key's tenant, the request, or the endpoint.
    """
    requested = requested if requested is not None else RequestedTenant()
    partition = Partition(endpoint_id=_endpoint(principal, settings, requested), part_id=_part(principal, settings, requested))
    return Context(
        partition=partition,
        principal=principal,
        user_id=requested.user_id or principal.name,
        connection_id=requested.connection_id or settings.connection_id,
        part_given=principal.tenant is not None or bool(requested.part_id),
        edits=settings.editors is None or settings.editors in principal.groups or principal.may(Role.OPERATOR),
    )


def _may_choose_tenant(principal: Principal) -> bool:
    """Whether the caller may name any endpoint and part."""
    return principal.tenant is None and principal.may(Role.OPERATOR)


def _endpoint(principal: Principal, settings: AgentsSettings, requested: RequestedTenant) -> str:
    if not requested.endpoint_id or requested.endpoint_id == settings.endpoint_id:
        return settings.endpoint_id
    check_name("endpoint_id", requested.endpoint_id)
    if not _may_choose_tenant(principal):
        raise ForeignPart(f"{principal.name!r} does not belong to the endpoint {requested.endpoint_id!r}.")
    return requested.endpoint_id


def _part(principal: Principal, settings: AgentsSettings, requested: RequestedTenant) -> str:
    if requested.part_id:
        check_name("part_id", requested.part_id)
    if _may_choose_tenant(principal):
        return requested.part_id or requested.endpoint_id or settings.endpoint_id
    own = principal.tenant if principal.tenant is not None else settings.endpoint_id
    check_name("part_id", own)
    if principal.tenant == settings.endpoint_id:
        raise BadPartition(
            f"The tenant {own!r} has the name of the endpoint, whose partition belongs to callers without a tenant.",
            fix="Rename the tenant of these keys, or set another endpoint_id below [agents] in gateleg.toml.",
            details={"field": "part_id"},
        )
    if requested.part_id and requested.part_id != own:
        raise ForeignPart(f"{principal.name!r} does not belong to the part {requested.part_id!r}.")
    return own

"""Whose data a request works on: its partition, assembled once, and the context that carries it.

`assemble` is the only place where a partition comes from a request:

    context = assemble(principal, settings, Asked(part_id=request.headers.get("X-Part-ID")))
    agent = await find_agent(store, context, agent_uuid)

A key's tenant is the `part_id`. Who has a tenant works in it and nowhere else. Operators and admins of the host, whose keys have no tenant,
may name any part and endpoint; members without a tenant work in the part that is named like the endpoint.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import BadPartition, ForeignPart
from gateleg.model import KeyPart, same_as
from gateleg.web import Role

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.web import Principal

#: The header that names a part.
PART_HEADER = "X-Part-ID"
#: Characters of an endpoint_id or a part_id; both together leave room for a thread's id in a key of 2,048 bytes.
LONGEST = 128
_DELIMITER = "#"
#: Names of which nothing else need be asked: every item that is read has two.
_PLAIN = re.compile(rf"[A-Za-z0-9._:/-]{{1,{LONGEST}}}")


class Partition(KeyPart, template="{endpoint_id}#{part_id}"):
    """A platform and a business on it. `str(partition)` is the `partition_key`; its parts are checked whenever one is built or parsed."""

    #: the platform
    endpoint_id: str
    #: the business; the endpoint, if there is none
    part_id: str = same_as("endpoint_id")

    def __post_init__(self) -> None:
        """Refuse what two tenants could share, look alike or be stored under by mistake."""
        check_name("endpoint_id", self.endpoint_id)
        if isinstance(self.part_id, str) and self.part_id:
            check_name("part_id", self.part_id)
        super().__post_init__()

    @property
    def partition_key(self) -> str:
        """The composite key: `endpoint_id#part_id`."""
        return str(self)


def check_name(field: str, value: object) -> None:
    """Refuse an endpoint_id or a part_id that cannot be part of a partition key. The message names the field."""
    problem = _problem(value)
    if problem is not None:
        raise BadPartition(f"{field} {problem}.", details={"field": field})


def _problem(value: object) -> str | None:
    if not isinstance(value, str):
        return "must be text"
    if _PLAIN.fullmatch(value):
        return None
    if not value:
        return "is empty"
    if len(value) > LONGEST:
        return f"has {len(value):,} characters; {LONGEST} are permitted"
    if _DELIMITER in value:
        return f"contains {_DELIMITER!r}, which separates the parts of a partition key"
    # Cc control, Cf format (invisible), Cs surrogates, Co private, Cn unassigned; Zl and Zp end lines.
    if any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for character in value):
        return "contains a character that is not visible"
    if value != value.strip():
        return "begins or ends with a space"
    if not unicodedata.is_normalized("NFC", value):
        return "is not in Unicode's composed form (NFC)"
    return None


def header_text(value: str | None, field: str) -> str | None:
    """A header as its sender wrote it, in UTF-8: servers hand headers over as Latin-1. Raises `BadPartition`."""
    if value is None or value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        raise BadPartition(f"{field} is not in UTF-8.", details={"field": field}) from None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request itself says about its place: in its header, its body or its arguments. Nothing of it is trusted."""

    endpoint_id: str | None = None
    part_id: str | None = None
    connection_id: str | None = None
    #: the end user on whose behalf the caller asks
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """The place of a request: carried to everything below, and never assembled again."""

    partition: Partition
    #: who calls; what they begin belongs to `owner`
    principal: Principal
    #: the end user; a label below the owner, never a right
    user_id: str
    #: whom answers are streamed to
    connection_id: str | None = None
    #: whether the part was given, by the key or by the request, and is not the endpoint's own
    part_given: bool = False
    #: whether the caller may change what the tenant has: agents, prompts, flows, servers and wizards
    edits: bool = True

    @property
    def partition_key(self) -> str:
        """The composite key: `endpoint_id#part_id`."""
        return str(self.partition)

    @property
    def endpoint_id(self) -> str:
        """The platform, for logs and addresses of others."""
        return self.partition.endpoint_id

    @property
    def part_id(self) -> str:
        """The business."""
        return self.partition.part_id

    @property
    def owner(self) -> str:
        """Whose threads, runs, messages and tool calls these are: the caller's key, with its tenant."""
        return self.principal.owner

    @property
    def sees_all(self) -> bool:
        """Whether the caller sees what other users of the partition have begun."""
        return self.principal.may(Role.VIEWER)

    @property
    def changes_all(self) -> bool:
        """Whether the caller may change what other users of the partition have begun."""
        return self.principal.may(Role.OPERATOR)


def assemble(principal: Principal, settings: AgentsSettings, asked: Asked | None = None) -> Context:
    """The context of a request. Raises `BadPartition` and `ForeignPart`.

    `endpoint_id` and `connection_id` come from the request or the settings; `part_id` from the key's tenant, the request, or the endpoint.
    """
    asked = asked if asked is not None else Asked()
    partition = Partition(endpoint_id=_endpoint(principal, settings, asked), part_id=_part(principal, settings, asked))
    return Context(
        partition=partition,
        principal=principal,
        user_id=asked.user_id or principal.name,
        connection_id=asked.connection_id or settings.connection_id,
        part_given=principal.tenant is not None or bool(asked.part_id),
        edits=settings.editors is None or settings.editors in principal.groups or principal.may(Role.OPERATOR),
    )


def _chooses(principal: Principal) -> bool:
    """Whether the caller may name any endpoint and part."""
    return principal.tenant is None and principal.may(Role.OPERATOR)


def _endpoint(principal: Principal, settings: AgentsSettings, asked: Asked) -> str:
    if not asked.endpoint_id or asked.endpoint_id == settings.endpoint_id:
        return settings.endpoint_id
    check_name("endpoint_id", asked.endpoint_id)
    if not _chooses(principal):
        raise ForeignPart(f"{principal.name!r} does not belong to the endpoint {asked.endpoint_id!r}.")
    return asked.endpoint_id


def _part(principal: Principal, settings: AgentsSettings, asked: Asked) -> str:
    if asked.part_id:
        check_name("part_id", asked.part_id)
    if _chooses(principal):
        return asked.part_id or asked.endpoint_id or settings.endpoint_id
    own = principal.tenant if principal.tenant is not None else settings.endpoint_id
    check_name("part_id", own)
    if principal.tenant == settings.endpoint_id:
        raise BadPartition(
            f"The tenant {own!r} has the name of the endpoint, whose partition belongs to callers without a tenant.",
            fix="Give the tenant's keys another tenant, or the endpoint another name: endpoint_id in [agents] of the settings.",
            details={"field": "part_id"},
        )
    if asked.part_id and asked.part_id != own:
        raise ForeignPart(f"{principal.name!r} does not belong to the part {asked.part_id!r}.")
    return own

"""`Principal`: the caller of a request, with a name, a role, groups and a tenant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from gateleg.jobs import Submission


class Role(IntEnum):
    """What a caller may do with the kit; each role may do all that the ones below it may."""

    #: use the applications, as far as their groups and their tenant let them; the kit's own pages and APIs are closed
    MEMBER = 1
    #: and look at everything of the kit that is not secret, of all groups and tenants
    VIEWER = 2
    #: and submit, cancel, retry and edit
    OPERATOR = 3
    #: and manage keys, settings and whole tables
    ADMIN = 4

    @property
    def word(self) -> str:
        """The name as people and APIs write it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller who has been recognised. Applications decide by `groups` and `tenant`, the kit by `role`."""

    name: str
    role: Role
    groups: frozenset[str] = frozenset()
    tenant: str | None = None
    #: the API key behind the caller; None for somebody with the token of the host, while no key exists
    key_id: str | None = None

    @property
    def owner(self) -> str:
        """The caller as the owner of what is stored: tenant and name, each quoted. A name alone may be somebody else in another tenant."""
        return f"{quote(self.tenant or '', safe='')}/{quote(self.name, safe='')}"

    def may(self, role: Role) -> bool:
        """Whether the caller has a role, or one above it."""
        return self.role >= role


#: Whoever shows the token of a host that has no keys: somebody at this machine who may read its data folder.
LOCAL = Principal("local", Role.ADMIN)


def submitted_by(principal: Principal, submission: Submission) -> Submission:
    """A submission in somebody's name, so that its job is theirs, and in their tenant."""
    return replace(submission, created_by=principal.name, tenant=principal.tenant)

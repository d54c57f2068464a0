"""Access rights to repositories, collections and documents. One pure function, `decide`, returns the decision and the rule behind it.

Members need one of the repository's groups, then one of the collection's groups; private collections are visible to their creators only.
RAG administrators, the members of the group named in the settings, manage the collections of the repositories that they can read. Roles
of the host take precedence: viewers read everything, operators change collections and documents, admins also change repositories.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gateleg.apps.rag.errors import RagAccessDenied, UnknownCollection, UnknownRepository
from gateleg.apps.rag.tables import CollectionStatus
from gateleg.host import Role

if TYPE_CHECKING:
    from gateleg.apps.rag.tables import Collection, Repository
    from gateleg.host import Principal

#: Statuses in which a collection is visible only to those who can restore or remove it.
DELETED_STATUSES = frozenset({CollectionStatus.DELETED, CollectionStatus.DELETE_IN_PROGRESS, CollectionStatus.DELETE_FAILED})


class Action(StrEnum):
    """An operation that needs permission."""

    #: see a repository, or a collection with its documents
    READ = "read"
    #: find passages of a collection, or get answers from it
    SEARCH = "search"
    #: add documents to a collection
    INGEST = "ingest"
    #: create a collection in a repository
    CREATE_COLLECTION = "create-collection"
    #: change, archive, delete or restore a collection
    CHANGE_COLLECTION = "change-collection"
    #: change or delete a document
    CHANGE_DOCUMENT = "change-document"
    #: change the pipelines of a repository
    CHANGE_PIPELINES = "change-pipelines"
    #: create, change or delete a repository
    CHANGE_REPOSITORY = "change-repository"


class Rule(StrEnum):
    """The rule that decided, as a sentence for people."""

    HOST_ADMIN = "administrators of the host may do everything"
    HOST_OPERATOR = "operators of the host change collections and documents of all repositories"
    HOST_VIEWER = "viewers of the host read everything"
    RAG_ADMIN = "RAG administrators manage the collections of the repositories that they can read"
    CREATOR = "the creator of a collection may use and change it"
    DOCUMENT_OWNER = "documents may be changed by the person who added them"
    PUBLIC_REPOSITORY = "the repository names no groups: every member can read it"
    REPOSITORY_GROUP = "members of a group of the repository can read it"
    COLLECTION_GROUP = "members of a group of the collection can read it"
    INHERITED = "the collection names no groups: everybody who can read the repository can read it"
    USER_COLLECTIONS = "the repository lets its readers create collections"

    OTHER_TENANT = "the repository belongs to another tenant"
    NOT_IN_REPOSITORY_GROUP = "the caller is in none of the repository's groups"
    NOT_IN_COLLECTION_GROUP = "the caller is in none of the collection's groups"
    PRIVATE = "the collection is private to its creator and to administrators"
    DELETED = "the collection is deleted: only its creator and administrators can see it"
    NOT_SEARCHABLE = "a deleted collection is not searched"
    NO_USER_COLLECTIONS = "only administrators create collections in this repository"
    NOT_CREATOR = "a collection is changed by its creator and by administrators"
    NOT_DOCUMENT_OWNER = "a document is changed by the person who added it, the creator of its collection and administrators"
    NOT_HOST_ADMIN = "repositories are changed by administrators of the host"
    NOT_RAG_ADMIN = "pipelines of a repository are changed by administrators"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an action is allowed, and the rule that decided."""

    allowed: bool
    rule: Rule

    @property
    def reason(self) -> str:
        """The rule in words."""
        return self.rule.value


def user_of(principal: Principal) -> str:
    """The caller's name as stored in `createdBy` and `username`: prefixed with the tenant, if there is one."""
    return principal.owner if principal.tenant is not None else principal.name.replace("%", "%25").replace("/", "%2F")


def is_rag_admin(principal: Principal, admin_group: str) -> bool:
    """Whether the caller is a RAG administrator. That covers only the repositories that they can read."""
    return bool(admin_group) and admin_group in principal.groups


def decide(
    principal: Principal,
    repository: Repository,
    collection: Collection | None,
    action: Action,
    *,
    admin_group: str = "",
    document_owner: str | None = None,
) -> Decision:
    """Decide whether the caller may act on a repository, or on a collection or a document (of `document_owner`) in it."""
    if (decision := _decide_by_host_role(principal, collection, action)) is not None:
        return decision
    repository_read = _decide_repository_read(principal, repository)
    if not repository_read.allowed:
        return repository_read
    is_admin = is_rag_admin(principal, admin_group)
    if collection is None:
        return _decide_in_repository(repository, action, repository_read, is_admin)
    collection_read = _decide_collection_read(principal, collection, is_admin)
    if not collection_read.allowed:
        return collection_read
    return _decide_in_collection(principal, collection, action, collection_read, is_admin, document_owner)


def _decide_by_host_role(principal: Principal, collection: Collection | None, action: Action) -> Decision | None:
    """The decision if the caller's role on the host settles it; otherwise None."""
    if action is Action.SEARCH and collection is not None and collection.status in DELETED_STATUSES:
        return Decision(False, Rule.NOT_SEARCHABLE) if principal.may(Role.VIEWER) else None
    if principal.may(Role.ADMIN):
        return Decision(True, Rule.HOST_ADMIN)
    if action in (Action.READ, Action.SEARCH) and principal.may(Role.VIEWER):
        return Decision(True, Rule.HOST_VIEWER)
    if action is not Action.CHANGE_REPOSITORY and principal.may(Role.OPERATOR):
        return Decision(True, Rule.HOST_OPERATOR)
    return None


def _decide_repository_read(principal: Principal, repository: Repository) -> Decision:
    """Whether the caller can read the repository. Viewers of the host always can; what else they may do is decided later."""
    if principal.may(Role.VIEWER):
        return Decision(True, Rule.HOST_VIEWER)
    if repository.tenant is not None and repository.tenant != principal.tenant:
        return Decision(False, Rule.OTHER_TENANT)
    groups = repository.config.allowed_groups
    if not groups:
        return Decision(True, Rule.PUBLIC_REPOSITORY)
    if principal.groups.isdisjoint(groups):
        return Decision(False, Rule.NOT_IN_REPOSITORY_GROUP)
    return Decision(True, Rule.REPOSITORY_GROUP)


def _decide_in_repository(repository: Repository, action: Action, repository_read: Decision, is_admin: bool) -> Decision:
    if action is Action.CHANGE_REPOSITORY:
        return Decision(False, Rule.NOT_HOST_ADMIN)
    if action is Action.CHANGE_PIPELINES:
        return Decision(True, Rule.RAG_ADMIN) if is_admin else Decision(False, Rule.NOT_RAG_ADMIN)
    if action is Action.CREATE_COLLECTION:
        if is_admin:
            return Decision(True, Rule.RAG_ADMIN)
        # A viewer of the host reads the repository by role; only readers by membership may create collections.
        if repository_read.rule is Rule.HOST_VIEWER or not repository.config.allow_user_collections:
            return Decision(False, Rule.NO_USER_COLLECTIONS)
        return Decision(True, Rule.USER_COLLECTIONS)
    return repository_read


def _decide_collection_read(principal: Principal, collection: Collection, is_admin: bool) -> Decision:
    if principal.may(Role.VIEWER):
        return Decision(True, Rule.HOST_VIEWER)
    if is_admin:
        return Decision(True, Rule.RAG_ADMIN)
    if collection.created_by == user_of(principal):
        return Decision(True, Rule.CREATOR)
    if collection.private:
        return Decision(False, Rule.PRIVATE)
    if collection.allowed_groups and principal.groups.isdisjoint(collection.allowed_groups):
        return Decision(False, Rule.NOT_IN_COLLECTION_GROUP)
    if collection.status in DELETED_STATUSES:
        return Decision(False, Rule.DELETED)
    return Decision(True, Rule.COLLECTION_GROUP if collection.allowed_groups else Rule.INHERITED)


def _decide_in_collection(
    principal: Principal, collection: Collection, action: Action, collection_read: Decision, is_admin: bool, document_owner: str | None
) -> Decision:
    creator = collection.created_by == user_of(principal)
    if action is Action.SEARCH and collection.status in DELETED_STATUSES:
        return Decision(False, Rule.NOT_SEARCHABLE)
    if action in (Action.READ, Action.SEARCH):
        return collection_read
    if action in (Action.CHANGE_REPOSITORY, Action.CHANGE_PIPELINES, Action.CREATE_COLLECTION):
        return Decision(False, Rule.NOT_HOST_ADMIN)
    if is_admin:
        return Decision(True, Rule.RAG_ADMIN)
    if creator:
        return Decision(True, Rule.CREATOR)
    if action is Action.CHANGE_DOCUMENT:
        if document_owner is not None and document_owner == user_of(principal):
            return Decision(True, Rule.DOCUMENT_OWNER)
        return Decision(False, Rule.NOT_DOCUMENT_OWNER)
    if action is Action.INGEST and collection_read.rule is not Rule.HOST_VIEWER:
        return collection_read
    return Decision(False, Rule.NOT_CREATOR)


def require(
    principal: Principal,
    repository: Repository,
    collection: Collection | None,
    action: Action,
    *,
    admin_group: str = "",
    document_owner: str | None = None,
) -> Decision:
    """Return the decision if it allows the action. Raise `RagAccessDenied` if not, or a not-found error if the caller may not read it."""
    decision = decide(principal, repository, collection, action, admin_group=admin_group, document_owner=document_owner)
    if decision.allowed:
        return decision
    if not decide(principal, repository, None, Action.READ, admin_group=admin_group).allowed:
        raise UnknownRepository(f"There is no repository {repository.repository_id!r}.")
    if collection is not None and not decide(principal, repository, collection, Action.READ, admin_group=admin_group).allowed:
        raise UnknownCollection(f"There is no collection {collection.collection_id!r} in the repository {repository.repository_id!r}.")
    raise RagAccessDenied(f"{principal.name!r} may not do this: {decision.reason}.")


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of a request, with the name of the RAG administrators' group: all that is needed to decide access."""

    principal: Principal
    admin_group: str = ""

    @property
    def user(self) -> str:
        """The caller's name as stored in `createdBy` and `username`."""
        return user_of(self.principal)

    def decide(
        self, action: Action, repository: Repository, collection: Collection | None = None, *, document_owner: str | None = None
    ) -> Decision:
        """Decide whether the caller may take the action, and by which rule."""
        return decide(self.principal, repository, collection, action, admin_group=self.admin_group, document_owner=document_owner)

    def may(self, action: Action, repository: Repository, collection: Collection | None = None) -> bool:
        """Whether the caller may take the action."""
        return self.decide(action, repository, collection).allowed

    def require(
        self, action: Action, repository: Repository, collection: Collection | None = None, *, document_owner: str | None = None
    ) -> None:
        """Raise unless the caller may take the action: see the function `require`."""
        require(self.principal, repository, collection, action, admin_group=self.admin_group, document_owner=document_owner)


def explain(repository: Repository, collection: Collection, *, admin_group: str = "") -> list[str]:
    """Explain who can read a collection and why, one sentence per rule."""
    sentences = ["Viewers, operators and administrators of the host can read it."]
    if admin_group:
        sentences.append(f"RAG administrators (the group {admin_group}) can read it, if they can read the repository.")
    sentences.append(f"Its creator, {collection.created_by}, can read it, if they can read the repository.")
    sentences.append(f"{_readers(repository)} can read the repository.")
    if collection.status in DELETED_STATUSES:
        sentences.append("It is deleted, so nobody else can read it.")
    elif collection.private:
        sentences.append("It is private, so nobody else can read it.")
    elif collection.allowed_groups:
        sentences.append(f"Of those who can read the repository, members of {', '.join(collection.allowed_groups)} can read it.")
    else:
        sentences.append("It names no groups, so everybody who can read the repository can read it.")
    return sentences


def _readers(repository: Repository) -> str:
    groups = repository.config.allowed_groups
    readers = f"Members of {', '.join(groups)}" if groups else "All members of the host"
    return readers if repository.tenant is None else f"{readers} who belong to the tenant {repository.tenant}"

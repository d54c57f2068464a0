"""Everybody who may come to document collections, and what they may find there."""

from typing import Any

from gateleg.apps.rag.tables import Collection, CollectionStatus, Repository, RepositoryConfig
from gateleg.host import Principal, Role

ADMIN_GROUP = "rag-admins"
#: The name, role, groups and tenant of each.
PEOPLE: dict[str, Principal] = {
    "admin": Principal("ada", Role.ADMIN),
    "operator": Principal("otto", Role.OPERATOR),
    "viewer": Principal("vera", Role.VIEWER),
    #: a RAG administrator of the repositories of the lawyers
    "rag admin": Principal("rita", Role.MEMBER, frozenset({ADMIN_GROUP, "lawyers"})),
    #: a RAG administrator who is let into no repository
    "stray rag admin": Principal("rolf", Role.MEMBER, frozenset({ADMIN_GROUP})),
    "creator": Principal("ann", Role.MEMBER, frozenset({"lawyers"})),
    #: the creator's name in another tenant
    "namesake": Principal("ann", Role.MEMBER, frozenset({"lawyers"}), "acme"),
    "lawyer": Principal("lena", Role.MEMBER, frozenset({"lawyers"})),
    "partner": Principal("paul", Role.MEMBER, frozenset({"lawyers", "partners"})),
    "engineer": Principal("emil", Role.MEMBER, frozenset({"engineers"})),
    "outsider": Principal("olga", Role.MEMBER),
}


def repository(groups: list[str] | None = None, repository_id: str = "legal", tenant: str | None = None, **config: Any) -> Repository:
    own = RepositoryConfig(repository_id=repository_id, embedding_model_id="local:minilm", allowed_groups=groups, **config)
    return Repository(repository_id=repository_id, config=own, tenant=tenant)


def collection(
    name: str = "Contracts",
    *,
    groups: list[str] | None = None,
    private: bool = False,
    status: CollectionStatus = CollectionStatus.ACTIVE,
    repository_id: str = "legal",
    created_by: str = "ann",
    **others: Any,
) -> Collection:
    return Collection(
        repository_id=repository_id,
        name=name,
        embedding_model="local:minilm",
        created_by=created_by,
        allowed_groups=groups,
        private=private,
        status=status,
        **others,
    )

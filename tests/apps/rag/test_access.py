"""The function that decides, rule by rule and as a whole matrix."""

import pytest

from gateleg.apps.rag.access import Action, Rule, decide, explain, require, user_of
from gateleg.apps.rag.errors import RagAccessDenied, UnknownCollection, UnknownRepository
from gateleg.apps.rag.tables import Collection, CollectionStatus
from gateleg.host import Principal, Role
from tests.apps.rag.people import ADMIN_GROUP, PEOPLE, collection, repository

HOST = {"admin", "operator", "viewer"}
LAWYERS = {"rag admin", "creator", "namesake", "lawyer", "partner"}
#: Who reads which collection of which repository. `namesake` is a lawyer too, and not the creator.
READERS: dict[str, set[str]] = {
    "open": set(PEOPLE),
    "repository groups": HOST | LAWYERS,
    "collection groups": HOST | {"rag admin", "creator", "partner"},
    "private": HOST | {"rag admin", "creator"},
    "private in groups": HOST | {"rag admin", "creator"},
    "deleted": HOST | {"rag admin", "creator"},
    "tenant": HOST | {"namesake"},
}
REPOSITORIES = {
    "open": repository(),
    "tenant": repository(tenant="acme"),
}
COLLECTIONS = {
    "collection groups": collection(groups=["partners"]),
    "private": collection(private=True),
    "private in groups": collection(private=True, groups=["partners"]),
    "deleted": collection(status=CollectionStatus.DELETED),
}


def allowed(who: str, what: str, action: Action, owner: str | None = None) -> bool:
    where = REPOSITORIES.get(what, repository(["lawyers", "partners"]))
    found = COLLECTIONS.get(what, collection())
    return decide(PEOPLE[who], where, found, action, admin_group=ADMIN_GROUP, document_owner=owner).allowed


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("who", PEOPLE)
def test_who_reads_what(who: str, what: str) -> None:
    assert allowed(who, what, Action.READ) == (who in READERS[what])


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("who", PEOPLE)
def test_readers_search_what_is_not_deleted(who: str, what: str) -> None:
    assert allowed(who, what, Action.SEARCH) == (who in READERS[what] and what != "deleted")


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("who", PEOPLE)
def test_readers_add_documents_except_those_who_only_look(who: str, what: str) -> None:
    assert allowed(who, what, Action.INGEST) == (who in READERS[what] and who != "viewer")


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("who", PEOPLE)
def test_creators_and_administrators_change_collections(who: str, what: str) -> None:
    changers = {"admin", "operator", "rag admin", "creator"} | ({"stray rag admin"} if what == "open" else set())
    assert allowed(who, what, Action.CHANGE_COLLECTION) == (who in changers & READERS[what])


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("who", PEOPLE)
def test_owners_change_their_documents(who: str, what: str) -> None:
    changers = {"admin", "operator", "rag admin", "creator", "partner"} | ({"stray rag admin"} if what == "open" else set())
    assert allowed(who, what, Action.CHANGE_DOCUMENT, owner="paul") == (who in changers & READERS[what])


@pytest.mark.parametrize("open_to_users", [True, False])
@pytest.mark.parametrize("who", PEOPLE)
def test_who_creates_collections(who: str, open_to_users: bool) -> None:
    where = repository(["lawyers"], allow_user_collections=open_to_users)
    found = decide(PEOPLE[who], where, None, Action.CREATE_COLLECTION, admin_group=ADMIN_GROUP)
    assert found.allowed == (who in ({"admin", "operator", "rag admin"} | (LAWYERS if open_to_users else set())))


@pytest.mark.parametrize("who", PEOPLE)
def test_who_changes_repositories(who: str) -> None:
    where = repository(["lawyers"])
    assert decide(PEOPLE[who], where, None, Action.CHANGE_REPOSITORY, admin_group=ADMIN_GROUP).allowed == (who == "admin")
    pipelines = decide(PEOPLE[who], where, None, Action.CHANGE_PIPELINES, admin_group=ADMIN_GROUP).allowed
    assert pipelines == (who in {"admin", "operator", "rag admin"})


@pytest.mark.parametrize("group", ["", "RAG-ADMINS"])
def test_nobody_is_a_rag_admin_of_another_group(group: str) -> None:
    found = decide(PEOPLE["rag admin"], repository(["lawyers"]), collection(private=True), Action.READ, admin_group=group)
    assert (found.allowed, found.rule) == (False, Rule.PRIVATE)


def test_repository_that_is_restricted_later_shuts_creators_out_too() -> None:
    found = decide(PEOPLE["creator"], repository(["engineers"]), collection(), Action.READ)
    assert (found.allowed, found.rule) == (False, Rule.NOT_IN_REPOSITORY_GROUP)


def test_tenant_and_name_cannot_be_forged_by_a_name() -> None:
    assert user_of(Principal("acme/ann", Role.MEMBER)) != user_of(Principal("ann", Role.MEMBER, tenant="acme"))
    assert user_of(Principal("a%2Fb", Role.MEMBER)) != user_of(Principal("a/b", Role.MEMBER))
    assert user_of(Principal("ann@example.org", Role.MEMBER)) == "ann@example.org"


def test_what_may_not_be_known_is_not_found() -> None:
    with pytest.raises(UnknownRepository):
        require(PEOPLE["outsider"], repository(["lawyers"]), collection(), Action.READ)
    with pytest.raises(UnknownCollection):
        require(PEOPLE["lawyer"], repository(["lawyers"]), collection(private=True), Action.CHANGE_COLLECTION)
    with pytest.raises(RagAccessDenied, match="its creator and by administrators"):
        require(PEOPLE["lawyer"], repository(["lawyers"]), collection(), Action.CHANGE_COLLECTION)
    assert require(PEOPLE["lawyer"], repository(["lawyers"]), collection(), Action.READ).rule is Rule.INHERITED


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (collection(), "names no groups"),
        (collection(private=True), "private"),
        (collection(groups=["partners"]), "members of partners"),
        (collection(status=CollectionStatus.DELETED), "deleted"),
    ],
)
def test_explanation_names_the_last_way_in(what: Collection, words: str) -> None:
    ways = explain(repository(["lawyers"]), what, admin_group=ADMIN_GROUP)
    assert words in ways[-1]
    assert any(ADMIN_GROUP in way for way in ways)
    assert "Members of lawyers can read the repository." in ways

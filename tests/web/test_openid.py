"""Who the claims of a person make them, by the settings in `[oidc]`; no provider is asked."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gateleg.host.openid import OpenIdSettings, PersonRefused, SignInFailed, claim_at, metadata_from, person_id, principal_from
from gateleg.host.principal import Role
from gateleg.host.settings import BadSettings, load_settings

ANN = {"sub": "0001", "email": "ann@example.com", "email_verified": True}
ISSUER = "https://sso.example.com/realms/acme"


def mapping(**given: Any) -> OpenIdSettings:
    values = {"issuer": ISSUER, "client_id": "gateleg", "role_claims": ["roles"], "roles": {"ops": "operator", "boss": "admin"}} | given
    return OpenIdSettings(**values)


def reason(claims: dict[str, Any], **given: Any) -> str:
    with pytest.raises(PersonRefused) as refused:
        principal_from(ANN | claims, mapping(**given))
    assert "ann@example.com" not in refused.value.message
    return refused.value.reason


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("roles", ["a"]),
        ("realm_access.roles", ["b"]),
        ("resource_access.my.client.roles", ["c"]),
        ("https://example.com/roles", ["d"]),
        ("https://example.com/claims.roles", ["e"]),
        ("realm_access.nothing", None),
        ("roles.nothing", None),
        ("", None),
        (".", None),
    ],
)
def test_a_claim_is_found_by_its_path(path: str, value: Any) -> None:
    claims = {
        "roles": ["a"],
        "realm_access": {"roles": ["b"]},
        "resource_access": {"my.client": {"roles": ["c"]}},
        "https://example.com/roles": ["d"],
        "https://example.com/claims": {"roles": ["e"]},
    }
    assert claim_at(claims, path) == value


@pytest.mark.parametrize(
    ("roles", "role"), [("ops", Role.OPERATOR), (["ops", "boss"], Role.ADMIN), (["boss", "none"], Role.ADMIN), (["none"], Role.MEMBER)]
)
def test_the_highest_role_counts(roles: Any, role: Role) -> None:
    assert principal_from(ANN | {"roles": roles}, mapping(default_role="member")).role is role


@pytest.mark.parametrize("roles", [None, [], "none", [["boss"]], [True], {"boss": True}, "boss ops", "Boss"])
def test_a_person_without_a_role_is_refused(roles: Any) -> None:
    assert "roles" in reason({"roles": roles})


def test_several_claims_may_give_a_role() -> None:
    settings = mapping(role_claims=["hd", "email"], roles={"example.com": "member", "ann@example.com": "admin"})
    assert principal_from(ANN | {"hd": "example.com"}, settings).role is Role.ADMIN
    assert principal_from(ANN | {"hd": "example.com", "email": "bob@example.com"}, settings).role is Role.MEMBER
    with pytest.raises(PersonRefused):
        principal_from(ANN | {"hd": "example.org", "email": "bob@example.com"}, settings)


@pytest.mark.parametrize(("verified", "trusted", "good"), [(True, False, True), ("true", False, True), (None, True, True)])
def test_an_email_that_was_verified_is_a_name(verified: Any, trusted: bool, good: bool) -> None:
    claims = ANN | {"email_verified": verified, "roles": "ops"}
    assert principal_from(claims, mapping(trust_email=trusted)).name == "ann@example.com"


@pytest.mark.parametrize(("verified", "trusted"), [(None, False), (False, False), (False, True), ("false", True), (1, False)])
def test_an_email_that_anybody_can_claim_is_no_name_and_gives_no_role(verified: Any, trusted: bool) -> None:
    claims = {"email_verified": verified, "roles": "ops", "login": "ann"}
    assert "not verified" in reason(claims, trust_email=trusted)
    by_email = {"role_claims": ["email"], "roles": {"ann@example.com": "admin"}, "name_claim": "login"}
    assert "no value of email" in reason(claims, trust_email=trusted, **by_email)


@pytest.mark.parametrize("name", [None, "", " ", ["a", "b"], {"a": 1}, "a\nb", "x" * 101, "local", "command line"])
def test_a_person_has_one_readable_name(name: Any) -> None:
    assert "name" in reason({"roles": "ops", "login": name}, name_claim="login")


def test_groups_are_those_of_the_claim_or_those_that_the_settings_name() -> None:
    claims = ANN | {"roles": "ops", "groups": ["a1b2", "choir"]}
    assert principal_from(claims, mapping()).groups == frozenset()
    assert principal_from(claims, mapping(groups_claim="groups")).groups == {"a1b2", "choir"}
    named = mapping(groups_claim="groups", groups={"a1b2": "tenant-admins"})
    assert principal_from(claims, named).groups == {"tenant-admins"}
    assert "name those that count" in reason({"roles": "ops", "groups": [str(n) for n in range(501)]}, groups_claim="groups")
    assert "name those that count" in reason({"roles": "ops", "groups": ["x" * 201]}, groups_claim="groups")


def test_a_member_has_one_tenant_where_the_settings_name_its_claim() -> None:
    settings = mapping(tenant_claim="org.id", roles={"ops": "operator", "user": "member"})
    assert principal_from(ANN | {"roles": "user", "org": {"id": "acme"}}, settings).tenant == "acme"
    assert principal_from(ANN | {"roles": "user", "org": {"id": 17}}, settings).tenant == "17"
    # Those who run the host are not of a tenant.
    assert principal_from(ANN | {"roles": "ops"}, settings).tenant is None
    for org in (None, [], "", ["acme", "other"], "x" * 201, "a\nb"):
        claims = {"roles": "user", "org": {"id": org}}
        assert "tenant_claim" in reason(claims, tenant_claim="org.id", roles={"user": "member"})


def test_a_person_stays_the_same_under_another_name_and_differs_by_issuer() -> None:
    first = principal_from(ANN | {"roles": "ops"}, mapping())
    renamed = principal_from(ANN | {"roles": "ops", "email": "ann@example.org"}, mapping())
    assert first.key_id == renamed.key_id == person_id(ISSUER, "0001")
    assert len({person_id(ISSUER, "0001"), person_id(ISSUER, "0002"), person_id(ISSUER + "0", "001")}) == 3


@pytest.mark.parametrize("subject", [None, "", 7, "x" * 256])
def test_a_person_without_a_subject_is_nobody(subject: Any) -> None:
    with pytest.raises(SignInFailed):
        principal_from(ANN | {"sub": subject, "roles": "ops"}, mapping())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "roles"]), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["sub", "email", "email_verified", "roles", "groups", "org", "a"]), JSON))
def test_any_claims_make_a_principal_or_a_refusal(claims: dict[str, Any]) -> None:
    settings = mapping(groups_claim="groups", tenant_claim="org.a", default_role="member")
    try:
        principal = principal_from(claims, settings)
    except (PersonRefused, SignInFailed):
        return
    assert principal.name
    assert principal.tenant
    assert principal.role is Role.MEMBER or "boss" in str(claims) or "ops" in str(claims)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"issuer": "http://sso.example.com"}, "https"),
        ({"issuer": "https://sso.example.com/?a=1"}, "https"),
        ({"issuer": "https://ann:word@sso.example.com"}, "https"),
        ({"issuer": "sso.example.com"}, "https"),
        ({"issuer": "https://sso.example.com:port"}, "https"),
        ({"issuer": None}, "issuer is not set"),
        ({"client_id": None}, "client_id is not set"),
        ({"roles": {}}, "roles is not set"),
        ({"role_claims": []}, "role_claims is not set"),
        ({"roles": {}, "role_claims": []}, "nobody could sign in"),
        ({"roles": {"a": "king"}}, "operator"),
        ({"groups": {"a": "b"}}, "groups_claim is not set"),
        ({"scopes": ["email"]}, "openid"),
        ({"algorithms": ["HS256"]}, "RS256"),
        ({"algorithms": ["none"]}, "RS256"),
        ({"algorithms": []}, "at least 1"),
        ({"leeway": 3600}, "300"),
        ({"client_secret": ""}, "ASCII"),
    ],
)
def test_settings_that_cannot_work_say_why(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        mapping(**given)
    assert words in str(refused.value)


def test_settings_come_from_variables_too_and_the_secret_is_not_shown() -> None:
    environ = {
        "GATELEG_OIDC__ISSUER": ISSUER,
        "GATELEG_OIDC__CLIENT_ID": "gateleg",
        "GATELEG_OIDC__CLIENT_SECRET": "very secret",
        "GATELEG_OIDC__ROLE_CLAIMS": "realm_access.roles, groups",
        "GATELEG_OIDC__ROLES": '{"ops": "operator"}',
    }
    settings = load_settings(environ=environ)
    oidc = settings.section("oidc", OpenIdSettings)
    assert (oidc.role_claims, oidc.roles) == (("realm_access.roles", "groups"), {"ops": "operator"})
    shown = {name: value for name, value, _ in settings.section_table("oidc", OpenIdSettings)}
    assert shown["oidc.client_secret"] == "(hidden)"
    assert "very secret" not in f"{shown}{oidc!r}"
    with pytest.raises(BadSettings, match="did you mean 'issuer'"):
        load_settings(environ=environ | {"GATELEG_OIDC__ISSUERS": "x"}).section("oidc", OpenIdSettings)


@given(JSON)
def test_any_discovery_document_is_read_or_refused(document: Any) -> None:
    from gateleg.host.openid import ProviderFault

    with pytest.raises(ProviderFault):
        metadata_from(document, ISSUER)

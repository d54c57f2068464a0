"""The partition of a request: assembled once, from the key, the request and the settings."""

from dataclasses import FrozenInstanceError

import pytest

from gateleg.apps.agents.errors import BadPartition, ForeignPart
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tenancy import RequestedTenant, assemble, header_text
from gateleg.host import Principal, Role

SETTINGS = AgentsSettings(endpoint_id="aws-prod", connection_id="socket-1")
ANN = Principal("ann", Role.MEMBER, tenant="acme")
GUEST = Principal("guest", Role.MEMBER)
OPERATOR = Principal("olga", Role.OPERATOR)
TENANT_OPERATOR = Principal("otto", Role.OPERATOR, tenant="acme")


def test_demand_1_the_partition_key_is_endpoint_and_part() -> None:
    partition = Partition(endpoint_id="aws-prod-us-east-1", part_id="acme-corp")
    assert partition.partition_key == str(partition) == "aws-prod-us-east-1#acme-corp"
    assert Partition.parse("aws-prod-us-east-1#acme-corp") == partition


def test_demand_2_the_context_carries_the_partition_and_cannot_be_changed() -> None:
    context = assemble(ANN, SETTINGS)
    assert (context.partition_key, context.endpoint_id, context.part_id) == ("aws-prod#acme", "aws-prod", "acme")
    with pytest.raises(FrozenInstanceError):
        context.partition = Partition(endpoint_id="x")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("principal", "asked", "part"),
    [
        (ANN, RequestedTenant(), "acme"),
        (ANN, RequestedTenant(part_id="acme"), "acme"),
        (ANN, RequestedTenant(part_id=""), "acme"),
        (GUEST, RequestedTenant(), "aws-prod"),
        (GUEST, RequestedTenant(part_id="aws-prod"), "aws-prod"),
        (OPERATOR, RequestedTenant(), "aws-prod"),
        (OPERATOR, RequestedTenant(part_id="acme"), "acme"),
        (OPERATOR, RequestedTenant(part_id=""), "aws-prod"),
        (TENANT_OPERATOR, RequestedTenant(), "acme"),
    ],
)
def test_demand_3_the_part_is_the_keys_tenant_or_asked_for_by_operators_or_the_endpoint(
    principal: Principal, asked: RequestedTenant, part: str
) -> None:
    assert assemble(principal, SETTINGS, asked).partition_key == f"aws-prod#{part}"


@pytest.mark.parametrize("principal", [ANN, GUEST, TENANT_OPERATOR, Principal("vera", Role.VIEWER)])
@pytest.mark.parametrize("asked", [RequestedTenant(part_id="umbrella"), RequestedTenant(endpoint_id="another")])
def test_nobody_but_an_operator_without_a_tenant_names_another_place(principal: Principal, asked: RequestedTenant) -> None:
    with pytest.raises(ForeignPart) as refused:
        assemble(principal, SETTINGS, asked)
    assert refused.value.status == 403


def test_demand_4_endpoint_and_connection_default_from_the_settings() -> None:
    context = assemble(ANN, SETTINGS)
    assert (context.endpoint_id, context.connection_id) == ("aws-prod", "socket-1")
    assert AgentsSettings().endpoint_id == "local"
    asked = assemble(OPERATOR, SETTINGS, RequestedTenant(endpoint_id="other", connection_id="socket-2"))
    assert (asked.endpoint_id, asked.part_id, asked.connection_id) == ("other", "other", "socket-2")


def test_demand_17_the_context_knows_whether_a_part_was_given() -> None:
    assert not assemble(GUEST, SETTINGS).part_given
    assert not assemble(OPERATOR, SETTINGS).part_given
    assert assemble(ANN, SETTINGS).part_given
    assert assemble(OPERATOR, SETTINGS, RequestedTenant(part_id="acme")).part_given


def test_a_user_is_the_callers_name_unless_the_request_names_an_end_user_and_the_owner_is_always_the_caller() -> None:
    assert (assemble(ANN, SETTINGS).user_id, assemble(ANN, SETTINGS).owner) == ("ann", "acme/ann")
    asked = assemble(ANN, SETTINGS, RequestedTenant(user_id="bob"))
    assert (asked.user_id, asked.owner) == ("bob", "acme/ann")


@pytest.mark.parametrize("field", ["endpoint_id", "part_id"])
@pytest.mark.parametrize(
    "value", ["b#c", "#", "a\x00b", "a\nb", "x" * 129, " a", "a ", "e\u0301", "a\u200bb", "\u202eabc", "a\u2028b"], ids=ascii
)
def test_names_that_two_tenants_could_share_are_refused_with_the_field(field: str, value: str) -> None:
    with pytest.raises(BadPartition) as refused:
        Partition(**{"endpoint_id": "ep", field: value})
    assert refused.value.message.startswith(field)
    assert refused.value.details == {"field": field}
    with pytest.raises(BadPartition):
        assemble(OPERATOR, SETTINGS, RequestedTenant(**{field: value}))


def test_an_empty_endpoint_is_refused_and_an_empty_part_is_the_endpoint() -> None:
    with pytest.raises(BadPartition, match="endpoint_id is empty"):
        Partition(endpoint_id="")
    assert str(Partition(endpoint_id="ep", part_id="")) == "ep#ep"
    with pytest.raises(ValueError, match="contains '#'"):
        AgentsSettings(endpoint_id="a#b")


@pytest.mark.parametrize("value", ["北京", "münchen", "x" * 128, "a.b-c_d", "a b", "ﾊﾞ"])
def test_other_unicode_names_are_kept_as_they_are(value: str) -> None:
    assert Partition.parse(str(Partition(endpoint_id="ep", part_id=value))).part_id == value


def test_a_key_whose_tenant_cannot_be_a_part_is_refused() -> None:
    for tenant in ("b#c", "", "e\u0301"):
        with pytest.raises(BadPartition):
            assemble(Principal("ann", Role.MEMBER, tenant=tenant), SETTINGS)


def test_a_header_is_read_as_utf_8() -> None:
    assert header_text("Zoé".encode().decode("latin-1"), "part_id") == "Zoé"
    assert (header_text("acme", "part_id"), header_text(None, "part_id")) == ("acme", None)
    with pytest.raises(BadPartition, match="part_id is not in UTF-8"):
        header_text("Zo\xe9", "part_id")


def test_a_tenant_with_the_name_of_the_endpoint_does_not_share_the_partition_of_callers_without_one() -> None:
    assert assemble(Principal("nobody", Role.MEMBER), SETTINGS).partition_key == "aws-prod#aws-prod"
    with pytest.raises(BadPartition, match="has the name of the endpoint"):
        assemble(Principal("ann", Role.MEMBER, tenant="aws-prod"), SETTINGS)

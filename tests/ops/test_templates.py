"""The declared tables in the languages of infrastructure tools."""

from typing import Any

import pytest

from gateleg.migrate import Capacity, TableSettings
from gateleg.model import GSI, LSI, TTL, Attr, Entity, Key, Table, field
from gateleg.ops import NotExpressible, cloudformation, create_requests, terraform
from gateleg.store import Store

shop = Table(
    "shop-orders",
    hash="customer",
    range="order_id",
    indexes=[GSI("by-total", hash="region", range="total", project=["customer_name"]), LSI("by-day", range="day", project="keys")],
    stream="NEW_IMAGE",
)


class Order(Entity, table=shop):
    customer: Attr[str]
    order_id: Attr[str]
    region: Attr[str]
    total: Attr[int]
    day: Attr[str]
    expires: Attr[TTL | None] = field(None)

    key = Key("{customer}", "{order_id}")


SETTINGS = TableSettings(Capacity(5, 2), protected=True, recoverable=True, tags={"team": "shop"})


def test_requests_are_accepted_by_the_service() -> None:
    with Store.embedded() as store:
        for request in create_requests([shop], SETTINGS, "dev-"):
            store.transport.call("CreateTable", request)
        assert store.transport.call("ListTables", {})["TableNames"] == ["dev-shop-orders"]


def properties(settings: TableSettings = SETTINGS) -> dict[str, Any]:
    found: dict[str, Any] = cloudformation([shop], settings)["Resources"]["ShopOrders"]["Properties"]
    return found


def test_cloudformation_has_the_keys_and_indexes_of_the_request() -> None:
    (request,) = create_requests([shop], SETTINGS)
    for member in ("TableName", "KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "Tags"):
        assert properties()[member] == request[member]


def test_cloudformation_says_expiry_recovery_and_streams_in_its_own_way() -> None:
    assert properties()["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    assert properties()["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties()["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}
    assert properties()["DeletionProtectionEnabled"] is True
    assert "PointInTimeRecoverySpecification" not in properties(TableSettings())


def test_cloudformation_keeps_tables_that_leave_the_stack() -> None:
    resource = cloudformation([shop])["Resources"]["ShopOrders"]
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_terraform() -> None:
    assert terraform([shop], SETTINGS, "dev-")["resource"]["aws_dynamodb_table"]["shop_orders"] == {
        "name": "dev-shop-orders",
        "billing_mode": "PROVISIONED",
        "hash_key": "customer",
        "range_key": "order_id",
        "read_capacity": 5,
        "write_capacity": 2,
        "attribute": [
            {"name": "customer", "type": "S"},
            {"name": "day", "type": "S"},
            {"name": "order_id", "type": "S"},
            {"name": "region", "type": "S"},
            {"name": "total", "type": "N"},
        ],
        "global_secondary_index": [
            {
                "name": "by-total",
                "hash_key": "region",
                "range_key": "total",
                "projection_type": "INCLUDE",
                "non_key_attributes": ["customer_name"],
                "read_capacity": 5,
                "write_capacity": 2,
            }
        ],
        "local_secondary_index": [{"name": "by-day", "range_key": "day", "projection_type": "KEYS_ONLY"}],
        "stream_enabled": True,
        "stream_view_type": "NEW_IMAGE",
        "ttl": {"attribute_name": "expires", "enabled": True},
        "deletion_protection_enabled": True,
        "point_in_time_recovery": {"enabled": True},
        "tags": {"team": "shop"},
        "lifecycle": {"prevent_destroy": True},
    }


def test_terraform_has_no_words_for_keys_of_several_attributes() -> None:
    table = Table("places", hash="id", indexes=[GSI("by-place", hash=["country", "city"])])
    with pytest.raises(NotExpressible, match="by-place"):
        terraform([table])
    assert len(cloudformation([table])["Resources"]["Places"]["Properties"]["GlobalSecondaryIndexes"][0]["KeySchema"]) == 2


def test_names_that_become_the_same_are_numbered() -> None:
    tables = [Table(name, hash="id") for name in ("a-b", "a.b", "9lives")]
    assert list(cloudformation(tables)["Resources"]) == ["AB", "AB2", "9lives"]
    assert list(terraform(tables)["resource"]["aws_dynamodb_table"]) == ["a_b", "a_b2", "table_9lives"]

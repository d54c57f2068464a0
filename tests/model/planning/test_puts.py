from pydantic import BaseModel

from gateleg.model.planning import Write, plan_check, plan_delete, plan_put
from tests.model.planning.orders import KEY, Order, order, versioned
from tests.model.plans import NOW, condition

NOW_TEXT = "2026-05-06T07:08:09.000000Z"


def test_a_put_sets_stamps_and_increments_the_version() -> None:
    write = plan_put(versioned(), now=NOW)
    assert write.parameters["Item"]["version"] == {"N": "4"}
    assert write.parameters["Item"]["changed_at"] == {"S": NOW_TEXT}
    assert write.parameters["Item"]["placed_at"] == {"S": "2026-01-01T00:00:00.000000Z"}
    assert condition(write) == "#version = 3"
    assert write.owned == {"changed_at": NOW, "version": 4}


def test_the_first_put_of_a_versioned_instance_creates_it() -> None:
    assert condition(plan_put(versioned(version=0), now=NOW)) == "attribute_not_exists(#PK)"


def test_a_create_requires_that_the_item_does_not_exist() -> None:
    assert condition(plan_put(order(), now=NOW, create=True)) == "attribute_not_exists(#PK)"
    assert condition(plan_put(order(), now=NOW)) == ""


def test_a_delete_checks_the_version() -> None:
    assert condition(plan_delete(versioned())) == "#version = 3"
    assert condition(plan_delete(versioned(), check_version=False)) == ""
    assert plan_delete(Order.key(shop_id="s", number=7)).request() == {"TableName": "orders", "Key": KEY}
    assert condition(plan_delete(order(), must_exist=True)) == "attribute_exists(#PK)"


def test_a_check_is_a_condition_without_a_write() -> None:
    write = plan_check(order(), Order.total > 1)
    assert (write.kind, write.alone) == ("ConditionCheck", True)
    assert condition(write) == "#total > 1"


def test_a_write_of_a_plain_model_is_typed_by_its_entity() -> None:
    write: Write[Order] = plan_put(order(), now=NOW)
    assert issubclass(write.entity, BaseModel)

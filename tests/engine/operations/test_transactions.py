from typing import Any

import pytest

from gateleg.engine.errors import EngineError
from tests.engine.world import Item, World, text

A, B, C = text(id="a"), text(id="b"), text(id="c")


@pytest.fixture
def bank(world: World) -> World:
    """Two accounts: a with 100, b with 50."""
    world.create("id", name="Accounts")
    world.put({**A, "money": {"N": "100"}}, name="Accounts")
    world.put({**B, "money": {"N": "50"}}, name="Accounts")
    return world


def put(item: Item, **more: Any) -> dict[str, Any]:
    return {"Put": {"TableName": "Accounts", "Item": item, **more}}


def delete(key: Item, **more: Any) -> dict[str, Any]:
    return {"Delete": {"TableName": "Accounts", "Key": key, **more}}


def check(key: Item, condition: str, **more: Any) -> dict[str, Any]:
    return {"ConditionCheck": {"TableName": "Accounts", "Key": key, "ConditionExpression": condition, **more}}


def add(key: Item, money: int, **more: Any) -> dict[str, Any]:
    """Add money to an account, or take it."""
    values = {":m": {"N": str(money)}}
    return {
        "Update": {
            "TableName": "Accounts",
            "Key": key,
            "UpdateExpression": "ADD money :m",
            "ExpressionAttributeValues": values,
            **more,
        }
    }


def get(key: Item, **more: Any) -> dict[str, Any]:
    return {"Get": {"TableName": "Accounts", "Key": key, **more}}


def write(world: World, *actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return world.call("TransactWriteItems", TransactItems=list(actions), **more)


def refusal(world: World, *actions: dict[str, Any], **more: Any) -> EngineError:
    return world.refusal("TransactWriteItems", TransactItems=list(actions), **more)


def balances(world: World) -> dict[str, str]:
    """What every account has."""
    return {item["id"]["S"]: item.get("money", {}).get("N", "-") for item in world.items("Accounts")}


def codes(error: EngineError) -> list[str]:
    """The reasons of a cancelled transaction."""
    assert error.code == "TransactionCanceledException"
    found = [reason["Code"] for reason in error.extra["CancellationReasons"]]
    assert error.message == f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(found)}]"
    return found


def test_all_actions_of_a_transaction_happen(bank: World) -> None:
    assert write(bank, add(A, -30), delete(B), put({**C, "money": {"N": "30"}})) == {}
    assert balances(bank) == {"a": "70", "c": "30"}


def test_a_check_changes_nothing(bank: World) -> None:
    write(bank, check(A, "attribute_exists(money)"), add(B, 1))
    assert balances(bank) == {"a": "100", "b": "51"}


def test_if_one_condition_fails_nothing_happens(bank: World) -> None:
    error = refusal(bank, add(A, -30), put(B, ConditionExpression="attribute_not_exists(id)"), check(C, "attribute_exists(id)"))
    assert codes(error) == ["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]
    assert error.extra["CancellationReasons"][1] == {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
    assert balances(bank) == {"a": "100", "b": "50"}


def test_a_failed_condition_returns_the_item_if_asked(bank: World) -> None:
    wanted = {"ConditionExpression": "attribute_not_exists(id)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    reasons = refusal(bank, put(A, **wanted), check(C, "attribute_exists(id)")).extra["CancellationReasons"]
    assert reasons[0]["Item"] == {**A, "money": {"N": "100"}}
    assert "Item" not in reasons[1]


def test_an_update_that_cannot_be_done_cancels_the_transaction(bank: World) -> None:
    bank.put({**C, "money": {"S": "much"}}, name="Accounts")
    error = refusal(bank, add(A, 1), add(C, 1))
    assert codes(error) == ["None", "ValidationError"]
    assert error.extra["CancellationReasons"][1]["Message"] == "An operand in the update expression has an incorrect data type"
    assert balances(bank)["a"] == "100"


def test_of_several_wrong_keys_only_the_first_is_looked_at(bank: World) -> None:
    error = refusal(bank, add(A, 1), put({"id": {"N": "7"}}), put({"id": {"N": "8"}}), check(C, "attribute_exists(id)"))
    assert codes(error) == ["None", "ValidationError", "None", "None"]
    assert error.extra["CancellationReasons"][1]["Message"] == (
        "One or more parameter values were invalid: Type mismatch for key id expected: S actual: N"
    )
    assert balances(bank)["a"] == "100"


def test_an_item_that_is_too_large_to_put_refuses_the_whole_request(bank: World) -> None:
    error = refusal(bank, add(A, 1), put({**C, "filler": {"S": "x" * 409_600}}))
    assert (error.code, error.message) == ("ValidationException", "Item size has exceeded the maximum allowed size")


def test_an_item_that_an_update_makes_too_large_cancels_the_transaction(bank: World) -> None:
    bank.put({**C, "filler": {"S": "x" * 409_580}}, name="Accounts")
    error = refusal(bank, add(A, 1), add(C, 10**30 + 1))
    assert codes(error) == ["None", "ValidationError"]
    assert error.extra["CancellationReasons"][1]["Message"] == "Item size to update has exceeded the maximum allowed size"


def test_a_fault_in_an_expression_refuses_the_whole_request(bank: World) -> None:
    error = refusal(bank, add(A, 1), check(B, "#n = :v"))
    assert (error.code, error.message) == (
        "ValidationException",
        "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; attribute name: #n",
    )


def test_two_actions_may_not_touch_one_item(bank: World) -> None:
    error = refusal(bank, add(A, 1), check(A, "attribute_exists(id)"))
    assert (error.code, error.message) == (
        "ValidationException",
        "Transaction request cannot include multiple operations on one item",
    )


def test_an_action_is_one_thing(bank: World) -> None:
    message = "TransactItems can only contain one of Check, Put, Update or Delete"
    assert refusal(bank, {**put(A), **delete(B)}).message == message
    assert refusal(bank, {}).message == "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"


def test_a_table_that_is_not_there_is_not_found(bank: World) -> None:
    error = refusal(bank, put(A), {"Put": {"TableName": "Nothing", "Item": A}})
    assert error.code == "ResourceNotFoundException"


def test_a_hundred_actions_are_enough(bank: World) -> None:
    write(bank, *(put(text(id=str(number))) for number in range(100)))
    error = refusal(bank, *(put(text(id=str(number))) for number in range(101)))
    assert (error.message or "").endswith("Member must have length less than or equal to 100")


def test_a_transaction_carries_four_megabytes(bank: World) -> None:
    def puts(size: int) -> list[dict[str, Any]]:
        return [put({**text(id=str(number)), "filler": {"S": "x" * size}}) for number in range(16)]

    write(bank, *puts(262_000))
    error = refusal(bank, *puts(262_144))
    assert error.code == "ValidationException"
    assert (error.message or "").startswith("Transaction payload size cannot exceed 4MB. Payload Size: ")


def test_the_values_of_updates_count_for_the_payload(bank: World) -> None:
    updates = [
        {
            "Update": {
                "TableName": "Accounts",
                "Key": text(id=str(number)),
                "UpdateExpression": "SET filler = :v",
                "ExpressionAttributeValues": {":v": {"S": "x" * 350_000}},
            }
        }
        for number in range(13)
    ]
    assert (refusal(bank, *updates).message or "").startswith("Transaction payload size cannot exceed 4MB.")


def test_items_that_are_only_deleted_do_not_count_for_the_payload(bank: World) -> None:
    for number in range(12):
        bank.put({**text(id=str(number)), "filler": {"S": "x" * 400_000}}, name="Accounts")
    write(bank, *(delete(text(id=str(number))) for number in range(12)))
    assert balances(bank) == {"a": "100", "b": "50"}


class TestToken:
    """A ClientRequestToken makes a request that is sent again harmless."""

    def test_a_request_sent_again_does_nothing(self, bank: World) -> None:
        for _ in range(3):
            assert write(bank, add(A, 10), ClientRequestToken="t") == {}
        assert balances(bank)["a"] == "110"

    def test_another_request_with_the_same_token_is_refused(self, bank: World) -> None:
        write(bank, add(A, 10), ClientRequestToken="t")
        assert refusal(bank, add(A, 11), ClientRequestToken="t").code == "IdempotentParameterMismatchException"
        assert balances(bank)["a"] == "110"

    def test_a_token_lasts_for_ten_minutes(self, bank: World) -> None:
        write(bank, add(A, 10), ClientRequestToken="t")
        bank.now += 599
        write(bank, add(A, 10), ClientRequestToken="t")
        assert balances(bank)["a"] == "110"
        bank.now += 2
        write(bank, add(A, 10), ClientRequestToken="t")
        assert balances(bank)["a"] == "120"

    def test_a_request_that_failed_may_be_sent_again(self, bank: World) -> None:
        refusal(bank, add(C, 1, ConditionExpression="attribute_exists(id)"), ClientRequestToken="t")
        bank.put(C, name="Accounts")
        write(bank, add(C, 1, ConditionExpression="attribute_exists(id)"), ClientRequestToken="t")
        assert balances(bank)["c"] == "1"


def test_a_reading_transaction_answers_in_the_order_of_its_gets(bank: World) -> None:
    answer = bank.call("TransactGetItems", TransactItems=[get(B), get(C), get(A, ProjectionExpression="money")])
    assert answer == {"Responses": [{"Item": {**B, "money": {"N": "50"}}}, {}, {"Item": {"money": {"N": "100"}}}]}


def test_a_reading_transaction_may_not_read_an_item_twice(bank: World) -> None:
    error = bank.refusal("TransactGetItems", TransactItems=[get(A), get(A)])
    assert error.message == "Transaction request cannot include multiple operations on one item"


def test_a_wrong_key_cancels_a_reading_transaction(bank: World) -> None:
    error = bank.refusal("TransactGetItems", TransactItems=[get(A), get({"id": {"N": "1"}}), get({"id": {"N": "2"}})])
    assert codes(error) == ["None", "ValidationError", "None"]
    assert error.extra["CancellationReasons"][1]["Message"] == "The provided key element does not match the schema"


def test_an_item_of_which_a_read_names_nothing_is_not_answered(bank: World) -> None:
    answer = bank.call("TransactGetItems", TransactItems=[get(A, ProjectionExpression="nothing"), get(B, ProjectionExpression="money")])
    assert answer == {"Responses": [{}, {"Item": {"money": {"N": "50"}}}]}

"""Work whose result can be judged: tables, steps that a writer takes, and what must be true of the tables at any moment.

A writer's own orders must be what its acknowledged steps made of them. Everybody's counter must be the sum of what each writer added,
each of them at least what was acknowledged to it. Money is only moved, so it stays the same in all, and each transfer stands in the
ledger or has not happened.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.engine.operations.requests import attributes, index, keys, table

Call = Callable[[str, dict[str, Any]], dict[str, Any]]

ACCOUNTS = 8
MONEY = 1000
_STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@dataclass(frozen=True, slots=True)
class Step:
    """One write: what to call, and what it means for the judgement."""

    kind: str
    #: number of the order that is put or deleted, or amount that is moved
    number: int
    note: str = ""
    source: int = 0
    target: int = 0


def create(call: Call) -> None:
    """Make the tables, with indexes, streams and recovery, and give everybody their money."""
    call(
        "CreateTable",
        table("writer", "n:N", name="Orders", defined=("writer", "n:N", "note", "state"), StreamSpecification=_STREAM)
        | {
            "LocalSecondaryIndexes": [
                {**index("ByState", "writer", "state"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
            ],
            "GlobalSecondaryIndexes": [index("ByNote", "note", "n")],
        },
    )
    call(
        "CreateTable",
        table("id", name="Accounts", StreamSpecification=_STREAM)
        | {
            "AttributeDefinitions": attributes(("id", "branch", "money:N")),
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "ByBranch",
                    "KeySchema": keys("branch", "money"),
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["latest"]},
                },
            ],
        },
    )
    call("CreateTable", table("id", name="Ledger"))
    call("CreateTable", table("id", name="Counters", StreamSpecification=_STREAM))
    for name in ("Orders", "Accounts", "Ledger"):
        call(
            "UpdateContinuousBackups",
            {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}},
        )
    for account in range(ACCOUNTS):
        item = {"id": {"S": str(account)}, "branch": {"S": str(account % 3)}, "money": {"N": str(MONEY)}}
        call("PutItem", {"TableName": "Accounts", "Item": item})
    call("PutItem", {"TableName": "Counters", "Item": {"id": {"S": "all"}, "tally": {"N": "0"}}})


def switch_index(call: Call) -> None:
    """Add an index to the ledger, or remove it: tables change while they are in use."""
    there = "GlobalSecondaryIndexes" in call("DescribeTable", {"TableName": "Ledger"})["Table"]
    update = {"Delete": {"IndexName": "ByAmount"}} if there else {"Create": index("ByAmount", "amount")}
    definitions = {} if there else {"AttributeDefinitions": attributes(("id", "amount:N"))}
    call("UpdateTable", {"TableName": "Ledger", "GlobalSecondaryIndexUpdates": [update], **definitions})


def plan(chance: random.Random, position: int) -> Step:
    """What a writer does as its step of that number."""
    kind = chance.choice(("put", "put", "count", "move", "delete"))
    if kind == "move":
        source, target = chance.sample(range(ACCOUNTS), 2)
        return Step("move", chance.randint(1, 50), str(position), source, target)
    if kind == "count":
        return Step("count", 0)
    note = chance.choice("abc") * chance.choice((1, 10, 900))
    return Step(kind, chance.randrange(12), note)


def requests(writer: str, step: Step) -> tuple[str, dict[str, Any]]:
    """The call that a step is made by."""
    if step.kind == "put":
        item = {"writer": {"S": writer}, "n": {"N": str(step.number)}, "note": {"S": step.note}, "state": {"S": step.note[:1]}}
        return "PutItem", {"TableName": "Orders", "Item": item}
    if step.kind == "delete":
        return "DeleteItem", {"TableName": "Orders", "Key": {"writer": {"S": writer}, "n": {"N": str(step.number)}}}
    if step.kind == "count":
        return "UpdateItem", {
            "TableName": "Counters",
            "Key": {"id": {"S": "all"}},
            "UpdateExpression": "SET tally = tally + :one ADD #w :one",
            "ConditionExpression": "attribute_exists(tally)",
            "ExpressionAttributeNames": {"#w": f"by {writer}"},
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    return "TransactWriteItems", {"TransactItems": list(_transfer(writer, step))}


def _transfer(writer: str, step: Step) -> Iterable[dict[str, Any]]:
    for account, sign in ((step.source, -1), (step.target, 1)):
        yield {
            "Update": {
                "TableName": "Accounts",
                "Key": {"id": {"S": str(account)}},
                "UpdateExpression": "SET money = money + :m, latest = :t",
                "ConditionExpression": "money >= :least",
                "ExpressionAttributeValues": {
                    ":m": {"N": str(sign * step.number)},
                    ":least": {"N": str(step.number if sign < 0 else 0)},
                    ":t": {"S": f"{writer} {step.note}"},
                },
            }
        }
    entry = {
        "id": {"S": f"{writer} {step.note}"},
        "source": {"N": str(step.source)},
        "target": {"N": str(step.target)},
        "amount": {"N": str(step.number)},
    }
    yield {"Put": {"TableName": "Ledger", "Item": entry, "ConditionExpression": "attribute_not_exists(id)"}}


@dataclass(frozen=True, slots=True)
class History:
    """A writer's steps that were acknowledged, and the one whose answer it did not live to see."""

    writer: str
    done: tuple[Step, ...]
    last: Step | None = None


def faults(call: Call, histories: Iterable[History]) -> list[str]:
    """What is not as it must be, in words."""
    histories = list(histories)
    found: list[str] = []
    orders: dict[str, dict[int, str]] = {}
    for item in scan(call, "Orders"):
        orders.setdefault(item["writer"]["S"], {})[int(item["n"]["N"])] = item["note"]["S"]
    ledger = {item["id"]["S"]: item for item in scan(call, "Ledger")}
    counter = scan(call, "Counters")[0]
    for history in histories:
        found += _order_faults(history, orders.get(history.writer, {}))
        found += _counter_faults(history, int(counter.get(f"by {history.writer}", {"N": "0"})["N"]))
        missing = [s for s in history.done if s.kind == "move" and f"{history.writer} {s.note}" not in ledger]
        found += [f"{history.writer}: the transfer {step} is lost" for step in missing]
    counted = sum(int(value["N"]) for name, value in counter.items() if name.startswith("by "))
    if counted != int(counter["tally"]["N"]):
        found.append(f"the counter is {counter['tally']['N']}, but the writers counted {counted}")
    return found + _money_faults(scan(call, "Accounts"), list(ledger.values()))


def _order_faults(history: History, orders: dict[int, str]) -> list[str]:
    without = _orders(history.done)
    possible = [without, _orders((*history.done, history.last)) if history.last else without]
    return [] if orders in possible else [f"{history.writer}: the orders are {orders}, not one of {possible}"]


def _orders(steps: Iterable[Step]) -> dict[int, str]:
    orders: dict[int, str] = {}
    for step in steps:
        if step.kind == "put":
            orders[step.number] = step.note
        elif step.kind == "delete":
            orders.pop(step.number, None)
    return orders


def _counter_faults(history: History, counted: int) -> list[str]:
    least = sum(step.kind == "count" for step in history.done)
    most = least + (history.last is not None and history.last.kind == "count")
    return [] if least <= counted <= most else [f"{history.writer}: counted {counted}, not {least} to {most}"]


def _money_faults(accounts: list[dict[str, Any]], ledger: list[dict[str, Any]]) -> list[str]:
    expected = Counter({str(account): MONEY for account in range(ACCOUNTS)})
    for entry in ledger:
        amount = int(entry["amount"]["N"])
        expected[entry["source"]["N"]] -= amount
        expected[entry["target"]["N"]] += amount
    real = {item["id"]["S"]: int(item["money"]["N"]) for item in accounts}
    return [] if real == dict(expected) else [f"the accounts hold {real}, the ledger says {dict(expected)}"]


def scan(call: Call, name: str) -> list[dict[str, Any]]:
    """All items of a table."""
    found: list[dict[str, Any]] = []
    request: dict[str, Any] = {"TableName": name}
    while True:
        answer = call("Scan", request)
        found += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

"""A bank that is made to be killed: money is moved between accounts without an end, while the bank is backed up and restored, and copies of
it are deleted.

    python -m tests.engine.crash.banker <database> <seed>

Each transfer is a transaction, so at any moment the accounts hold what they held at first. A line is written for each thing that has been
done, so that whoever reads them knows how far it has come.
"""

import random
import sys
import threading

from gateleg.engine import Engine, EngineError
from tests.engine.crash.ledger import Call
from tests.engine.operations.requests import table

NAME = "Bank"
#: More than are copied in one transaction.
ACCOUNTS = 2500
MONEY = 100


def create(call: Call) -> None:
    """The bank, with money in each account."""
    call("CreateTable", table("id", name=NAME))
    for start in range(0, ACCOUNTS, 25):
        puts = [{"PutRequest": {"Item": {"id": {"S": str(i)}, "money": {"N": str(MONEY)}}}} for i in range(start, start + 25)]
        call("BatchWriteItem", {"RequestItems": {NAME: puts}})
    call("UpdateContinuousBackups", {"TableName": NAME, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}})


def move(call: Call, chance: random.Random) -> None:
    """Move money from one account to another; an account that has none left is closed, and opened again by the next transfer to it."""
    source, target = chance.sample(range(ACCOUNTS), 2)
    found = call("GetItem", {"TableName": NAME, "Key": {"id": {"S": str(source)}}, "ConsistentRead": True}).get("Item")
    if found is None:
        return
    whole, values = found["money"], {":m": found["money"]}
    part = chance.random() < 0.7 and int(whole["N"]) > 1
    take: dict[str, object] = {"Delete": {"ConditionExpression": "money = :m", "ExpressionAttributeValues": values}}
    if part:
        values = {":m": {"N": "1"}}
        take = {"Update": {"UpdateExpression": "SET money = money - :m", "ConditionExpression": "money > :m"}}
        take["Update"] |= {"ExpressionAttributeValues": values}  # type: ignore[operator]
    (entry,) = take.values()
    entry |= {"TableName": NAME, "Key": {"id": {"S": str(source)}}}  # type: ignore[operator]
    give = {"TableName": NAME, "Key": {"id": {"S": str(target)}}, "UpdateExpression": "ADD money :m", "ExpressionAttributeValues": values}
    call("TransactWriteItems", {"TransactItems": [take, {"Update": give}]})


def total(call: Call, name: str) -> int:
    """The money in all accounts."""
    request: dict[str, object] = {"TableName": name}
    money = 0
    while True:
        answer = call("Scan", request)
        money += sum(int(item["money"]["N"]) for item in answer["Items"])
        if "LastEvaluatedKey" not in answer:
            return money
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def main(path: str, seed: str) -> None:
    """Move, back up and restore until killed."""
    engine = Engine(path)

    def attempt(operation: str, request: dict[str, object]) -> None:
        try:
            engine.call(operation, request)
        except EngineError as error:
            if error.code not in ("BackupInUseException", "ResourceInUseException", "TransactionCanceledException"):
                raise
            return
        print(operation, flush=True)

    def delete_some(chance: random.Random) -> None:
        """Delete some of the copies, many of which are still being made, and are then refused."""
        for backup in engine.call("ListBackups", {})["BackupSummaries"]:
            if chance.random() < 0.3:
                attempt("DeleteBackup", {"BackupArn": backup["BackupArn"]})
        for name in engine.call("ListTables", {})["TableNames"]:
            if name != NAME and chance.random() < 0.3:
                attempt("DeleteTable", {"TableName": name})

    def keep_moving(chance: random.Random) -> None:
        while True:
            try:
                move(engine.call, chance)
            except EngineError as error:
                if error.code != "TransactionCanceledException":
                    raise
            print("moved", flush=True)

    def keep_copies(chance: random.Random) -> None:
        number = 0
        while True:
            number += 1
            attempt("CreateBackup", {"TableName": NAME, "BackupName": f"{seed}-{number}"})
            target = f"{NAME}-{seed}-{number}"
            latest = {"SourceTableName": NAME, "TargetTableName": target, "UseLatestRestorableTime": True}
            attempt("RestoreTableToPointInTime", latest)
            delete_some(chance)
            threading.Event().wait(chance.random() / 10)

    for position in range(2):
        threading.Thread(target=keep_moving, args=(random.Random(f"{seed} {position}"),)).start()
    keep_copies(random.Random(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])

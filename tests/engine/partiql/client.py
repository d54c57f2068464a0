"""Runs PartiQL statements on an engine."""

from typing import Any

import pytest

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError

MALFORMED = "Statement wasn't well formed, can't be processed: "


class PartiQL:
    """An engine that takes statements; parameters follow the text, members of the request are named."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def run(self, text: str, *parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
        return self.engine.call("ExecuteStatement", _statement(text, parameters) | more)

    def items(self, text: str, *parameters: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.run(text, *parameters, **more)["Items"]
        return found

    def column(self, name: str, text: str, *parameters: dict[str, Any], **more: Any) -> list[str]:
        """The contents of one attribute of the items that a SELECT gives."""
        return [next(iter(item[name].values())) for item in self.items(text, *parameters, **more)]

    def refused(self, text: str, *parameters: dict[str, Any], **more: Any) -> EngineError:
        with pytest.raises(EngineError) as caught:
            self.run(text, *parameters, **more)
        return caught.value

    def message(self, text: str, *parameters: dict[str, Any], **more: Any) -> str | None:
        """The message of the validation error that a statement is answered with."""
        error = self.refused(text, *parameters, **more)
        assert error.code == "ValidationException"
        return error.message

    def batch(self, *texts: str, **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.batched(*texts, **more)["Responses"]
        return found

    def batched(self, *texts: str, **more: Any) -> dict[str, Any]:
        return self.engine.call("BatchExecuteStatement", {"Statements": [{"Statement": text} for text in texts]} | more)

    def transact(self, *texts: str, **more: Any) -> dict[str, Any]:
        return self.engine.call("ExecuteTransaction", {"TransactStatements": [{"Statement": text} for text in texts]} | more)

    def cancelled(self, *texts: str, **more: Any) -> list[dict[str, Any]]:
        """The reasons for which a transaction is cancelled."""
        with pytest.raises(EngineError) as caught:
            self.transact(*texts, **more)
        assert caught.value.code == "TransactionCanceledException"
        reasons: list[dict[str, Any]] = caught.value.extra["CancellationReasons"]
        return reasons

    def transact_message(self, *texts: str) -> str | None:
        with pytest.raises(EngineError) as caught:
            self.transact(*texts)
        assert caught.value.code == "ValidationException"
        return caught.value.message

    def stored(self, artist: str, title: str) -> dict[str, Any] | None:
        """A song as it is now."""
        answer = self.engine.call("GetItem", {"TableName": "Songs", "Key": {"artist": {"S": artist}, "title": {"S": title}}})
        return answer.get("Item")

    def song(self, artist: str, title: str, **attributes: dict[str, Any]) -> None:
        """Put a song."""
        item = {"artist": {"S": artist}, "title": {"S": title}, **attributes}
        self.engine.call("PutItem", {"TableName": "Songs", "Item": item})


def _statement(text: str, parameters: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"Statement": text, "Parameters": list(parameters)} if parameters else {"Statement": text}

"""The law of the engine's fast paths: an engine answers and stores the same without them."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from importlib import import_module
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.engine import Engine, EngineError, engine, keys, layout, protocol
from gateleg.engine.expressions import updates
from gateleg.plain import FAST_PATHS
from tests.engine.operations.requests import index, table

prepare = import_module("gateleg.engine.expressions.prepare")
#: The flags that turn each fast path of the engine off, and their modules.
FLAGS: dict[str, list[tuple[Any, str]]] = {
    "gets": [(engine, "_PLAIN_GETS")],
    "quick_check": [(protocol, "_PLAIN")],
    "quick_keys": [(layout, "_PLAIN")],
    "text_keys": [(keys, "_PLAIN_TEXT_KEYS")],
    "index_keys": [(keys, "_PLAIN_INDEX_KEYS")],
    "request_plans": [(prepare, "_PLAIN")],
    "flat_updates": [(updates, "_PLAIN")],
    "splicing": [(engine, "_PLAIN_SPLICING")],
}
TABLES = [
    table(
        "a",
        "b",
        name="Texts",
        defined=("a", "b", "c", "n:N"),
        GlobalSecondaryIndexes=[
            index("pair", "c", "n"),
            index("one", "c"),
            index("keys", "c", "b", Projection={"ProjectionType": "KEYS_ONLY"}),
        ],
        LocalSecondaryIndexes=[index("local", "a", "c")],
    ),
    table("a", "b", name="Mixed", defined=("a", "b:N", "c"), GlobalSecondaryIndexes=[index("pair", "c", "b")]),
    table("a", name="Single"),
]
TEXTS = st.sampled_from(["x", "y", "z", "é", "a\x00b"])
NUMBERS = st.sampled_from(["1", "2", "-2.5"])
SCALARS = st.one_of(st.builds(lambda text: {"S": text}, TEXTS), st.builds(lambda number: {"N": number}, NUMBERS))
ODD_VALUES: list[Any] = [
    {"S": ""},
    {"S": "x" * 300},
    {"N": "01"},
    {"N": "1e2"},
    {"N": "one"},
    {"BOOL": True},
    {"BOOL": "true"},
    {"NULL": True},
    {"SS": ["b", "a"]},
    {"SS": []},
    {"M": {"d": {"S": "x"}}},
    {"L": [{"N": "1.0"}]},
    {"S": 5},
    {"S": "x", "N": "1"},
    {"S": None},
    {"Z": "x"},
    {},
    None,
    "x",
    ["x"],
]
VALUES = st.one_of(SCALARS, st.sampled_from(ODD_VALUES))
CONDITIONS = ["attribute_exists(a)", "c = :v OR d = :v", "attribute_not_exists(d)", "#n = :v"]
ODD_CONDITIONS = ["size(c) > :v", "c", ":v < :w", "d.d = :v"]
UPDATES = ["SET d = :v", "SET #n = :v, d = :w", "SET d = if_not_exists(e, :v)", "REMOVE d, e", "SET e = :v REMOVE c"]
ODD_UPDATES = ["SET c = :v", "SET d.d = :v", "ADD #n :v", "DELETE e :v", "SET a = :v", "SET d = #n", "SET"]
KEY_CONDITIONS = ["a = :v", "a = :v AND b > :w"]
ODD_KEY_CONDITIONS = ["c = :v", "c = :v AND n = :w", "#n = :v"]
OPERATIONS = ["GetItem", "PutItem", "PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "DeleteItem", "Query"]


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any], Any]:
    """An operation, a request, most often a valid one, and the same with a change that may make it invalid."""
    texts: list[str] = []

    def pick(usual: list[Any], odd: list[Any]) -> Any:
        return draw(st.sampled_from(usual if draw(st.integers(0, 5)) else odd))

    def say(parameter: str, usual: list[str], odd: list[str]) -> None:
        request[parameter] = pick(usual, odd)
        texts.append(request[parameter])

    def value() -> Any:
        return draw(SCALARS) if draw(st.integers(0, 5)) else draw(st.sampled_from(ODD_VALUES))

    operation = draw(st.sampled_from(OPERATIONS))
    request: dict[str, Any] = {"TableName": pick(["Texts"], ["Mixed", "Single", "Nowhere", "x", None, 5, ["Texts"]])}
    key = (
        {"a": {"S": draw(TEXTS)}, "b": {"S": draw(TEXTS)}}
        if draw(st.integers(0, 5))
        else {name: value() for name in pick(["ab"], ["a", "abc", ""])}
    )
    if operation == "PutItem":
        request["Item"] = {**{name: value() for name in draw(st.sets(st.sampled_from("de")))}, **key}
        request["Item"] |= {"c": {"S": draw(TEXTS)}, "n": {"N": draw(NUMBERS)}} if draw(st.booleans()) else {}
    elif operation != "Query":
        request["Key"] = key
    if operation == "GetItem" and draw(st.booleans()):
        request["ConsistentRead"] = pick([True, False], ["true", 1])
    elif operation == "Query":
        if draw(st.booleans()):
            request["Limit"] = pick([1, 2], [0, True, "1"])
        if not draw(st.integers(0, 3)):
            request["IndexName"] = pick(["local"], ["pair", "one", "nothing"])
        say("KeyConditionExpression", KEY_CONDITIONS, ODD_KEY_CONDITIONS)
        if draw(st.booleans()):
            say("FilterExpression", ["d = :v", "attribute_exists(e)"], CONDITIONS + ODD_CONDITIONS)
    elif operation != "GetItem":
        if operation == "UpdateItem":
            say("UpdateExpression", UPDATES, ODD_UPDATES)
        if draw(st.booleans()):
            request["ReturnValues"] = pick(["ALL_OLD", "NONE"], ["ALL_NEW", "UPDATED_NEW", 5])
        if not draw(st.integers(0, 2)):
            say("ConditionExpression", CONDITIONS, ODD_CONDITIONS)
    if not draw(st.integers(0, 3)):
        request["ReturnConsumedCapacity"] = pick(["INDEXES", "TOTAL"], ["NONE", "ALL", None])
    said = " ".join(texts)
    values = {name: value() for name in (":v", ":w") if name in said}
    if values:
        request["ExpressionAttributeValues"] = values
    if "#n" in said:
        request["ExpressionAttributeNames"] = {"#n": pick(["d", "e"], ["n", "c", "b", ""])}
    return operation, request, _altered(draw, request)


def _altered(draw: st.DrawFn, request: dict[str, Any]) -> Any:
    """The same request with a fault, or with other values."""
    request = deepcopy(request)
    name = draw(st.sampled_from(sorted(request)))
    fault = draw(st.sampled_from(["value", "value", "type", "missing", "null", "unknown", "legacy", "legacy", "list"]))
    if fault == "value" and "ExpressionAttributeValues" in request:
        request["ExpressionAttributeValues"] = {name: draw(VALUES) for name in request["ExpressionAttributeValues"]}
    elif fault == "type":
        request[name] = draw(st.sampled_from([5, "x", [], {}, True, [{"S": "x"}]]))
    elif fault == "missing":
        del request[name]
    elif fault == "null":
        request[name] = None
    elif fault == "unknown":
        request["Unknown"] = 1
    elif fault == "legacy":
        request |= draw(st.sampled_from([{"Expected": {}}, {"AttributeUpdates": {"d": {"Action": "DELETE"}}}, {"QueryFilter": {}}]))
    elif fault == "list":
        return [request]
    return request


@contextmanager
def without(names: list[str]) -> Iterator[None]:
    """Turn fast paths off for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for module, flag in (pair for name in names for pair in FLAGS[name]):
            patch.setattr(module, flag, True)
        yield


def outcome(engine: Engine, operation: str, request: Any, as_json: bool) -> Any:
    """What an engine answers, or why it does not."""
    try:
        if as_json:
            return orjson.loads(engine.call_json(operation, orjson.dumps(request)))
        return engine.call(operation, deepcopy(request))
    except EngineError as error:
        return error.code, error.message, error.extra


def opened() -> Engine:
    """An engine with all tables."""
    opened = Engine(":memory:", background=False, clock=lambda: 1e9)
    for each in TABLES:
        opened.call("CreateTable", each)
    return opened


@pytest.mark.parametrize("names", [[name] for name in FLAGS] + [list(FLAGS)], ids=lambda names: names[0] if len(names) == 1 else "all")
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(requests(), st.booleans()), min_size=4, max_size=16))
def test_an_engine_answers_the_same_without(names: list[str], steps: list[Any]) -> None:
    with opened() as fast:
        with without(names):
            plain = opened()
        with plain:
            for (operation, request, altered), as_json in steps:
                for sent in (request, request, altered):
                    answer = outcome(fast, operation, sent, as_json)
                    with without(names):
                        assert outcome(plain, operation, sent, as_json) == answer
            for each in TABLES:
                for place in ({}, *({"IndexName": one["IndexName"]} for one in each.get("GlobalSecondaryIndexes", ()))):
                    scan = {"TableName": each["TableName"], **place}
                    assert plain.call("Scan", scan) == fast.call("Scan", scan)


def test_every_fast_path_of_the_engine_is_compared() -> None:
    elsewhere = {"decoder", "plans", "prepared", "exact_refs", "direct"}
    assert FLAGS.keys() | elsewhere >= FAST_PATHS.keys()

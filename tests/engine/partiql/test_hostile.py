"""No text may be answered with anything but an answer or DynamoDB's error."""

import string

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError
from gateleg.engine.partiql.selects import hash_order

from .conftest import SONGS

_KEYWORDS = """
    SELECT INSERT INTO UPDATE DELETE FROM WHERE SET REMOVE VALUE AND OR NOT IN BETWEEN IS MISSING NULL ORDER BY ASC DESC RETURNING ALL OLD
    NEW MODIFIED EXISTS LIMIT AS artist title n m genre Songs "Songs" "by-genre" 'a' '1' 1 -1 1e5 .5 1e999 ? * ( ) [ ] { } << >> , : ; . =
    <> < <= > >= + - / % || true size contains begins_with attribute_exists attribute_type list_append set_add set_delete count 'N' inner
"""
WORDS = _KEYWORDS.split()

_ENGINE = Engine(":memory:")
_ENGINE.call("CreateTable", SONGS)

_statement = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)
_likely = st.tuples(
    st.sampled_from(["SELECT * FROM Songs WHERE", "UPDATE Songs SET n =", "DELETE FROM Songs WHERE", "INSERT INTO Songs VALUE", "SELECT"]),
    _statement,
).map(" ".join)
_calm = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _answered(text: str) -> None:
    statement = {"Statement": text[:8192], "Parameters": [{"S": "a"}]} if "?" in text else {"Statement": text[:8192]}
    for operation, request in (
        ("ExecuteStatement", statement),
        ("BatchExecuteStatement", {"Statements": [statement]}),
        ("ExecuteTransaction", {"TransactStatements": [statement]}),
    ):
        try:
            _ENGINE.call(operation, request)
        except EngineError as error:
            if error.status != 400:
                raise


@_calm
@given(st.one_of(_statement, _likely))
def test_any_words_are_answered(text: str) -> None:
    _answered(text)


@_calm
@given(st.text(alphabet=string.printable + "é\u2028\U0001f600", min_size=1, max_size=80))
def test_any_text_is_answered(text: str) -> None:
    _answered(text)


@_calm
@given(
    st.sampled_from(["(", "[", "<<", "{'a':", "NOT ", "-", "size(", "a.", "a[0].", "a = 1 AND (", "NOT (n = 1 OR "]), st.integers(1, 3000)
)
def test_any_repetition_is_answered(unit: str, count: int) -> None:
    _answered(f"SELECT * FROM Songs WHERE {unit * count}"[:8192])


@given(st.lists(st.text(max_size=5), unique=True, max_size=30))
def test_hash_order_keeps_every_name(names: list[str]) -> None:
    assert sorted(hash_order(names)) == sorted(names)

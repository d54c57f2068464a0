"""However a SELECT is read, it gives the rows that its condition holds for, each of them once."""

import math
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import compile_condition
from gateleg.engine.partiql import grammar
from gateleg.engine.partiql.conditions import condition_of
from gateleg.engine.partiql.selects import MAX_READS
from gateleg.engine.partiql.statements import parse

from .conftest import SONGS

_ENGINE = Engine(":memory:")
_ENGINE.call("CreateTable", SONGS)
_ITEMS = [
    {"artist": {"S": artist}, "title": {"S": title}, "n": {"N": str(number)}, "genre": {"S": f"g{number % 3}"}}
    for artist in "abc"
    for number, title in enumerate("1234")
]
for item in _ITEMS:
    _ENGINE.call("PutItem", {"TableName": "Songs", "Item": item})

_artist = st.sampled_from(["'a'", "'b'", "'z'"])
_title = st.sampled_from(["'1'", "'2'", "'3'", "'12'"])
_leaf = st.one_of(
    _artist.map(lambda value: f"artist = {value}"),
    _artist.map(lambda value: f"{value} = artist"),
    st.lists(_artist, min_size=1, max_size=3, unique=True).map(lambda values: f"artist IN [{', '.join(values)}]"),
    _artist.map(lambda value: f"artist > {value}"),
    st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), _title).map(lambda pair: f"title {pair[0]} {pair[1]}"),
    st.lists(_title, min_size=1, max_size=3, unique=True).map(lambda values: f"title IN [{', '.join(values)}]"),
    _title.map(lambda value: f"begins_with(title, {value})"),
    st.lists(_title, min_size=2, max_size=2).map(sorted).map(lambda values: f"title BETWEEN {values[0]} AND {values[1]}"),
    st.integers(0, 4).map(lambda number: f"n = {number}"),
    st.just("genre = 'g1'"),
)
_condition = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        inner.map(lambda part: f"NOT ({part})"),
    ),
    max_leaves=6,
)


def _expected(text: str) -> set[str]:
    statement = parse(f"SELECT * FROM Songs WHERE {text}").statement
    assert isinstance(statement, grammar.SelectStatement)
    assert statement.where is not None
    test = compile_condition(condition_of(statement.where, {}))
    return {item["artist"]["S"] + item["title"]["S"] for item in _ITEMS if test(item, {})}


def _most_reads(text: str) -> int:
    """More reads than a condition can be taken apart into: those of lists are multiplied at most, and others added."""
    lists: list[int] = [found.count(",") + 1 for found in re.findall(r"IN \[([^]]*)\]", text)]
    words: list[str] = re.findall(r" (?:AND|OR) ", text)
    return math.prod(lists) * math.prod(2 for _ in words)


@example("(artist IN ['a', 'b', 'z'] AND (title IN ['1', '2', '3'] AND (artist IN ['a', 'b', 'z'] AND title IN ['1', '2', '3'])))", "Songs")
@settings(max_examples=400, deadline=None)
@given(_condition, st.sampled_from(["Songs", '"Songs"."by-genre"']))
def test_a_select_gives_the_rows_that_its_condition_holds_for(condition: str, source: str) -> None:
    try:
        found = _ENGINE.call("ExecuteStatement", {"Statement": f"SELECT artist, title FROM {source} WHERE {condition}"})["Items"]
    except EngineError as error:
        told = error.message or ""
        if "Too many decomposed" in told:
            assert _most_reads(condition) > MAX_READS
        elif "Overlapping conditions" not in told and "does not project" not in told:
            raise
        return
    rows = [item["artist"]["S"] + item["title"]["S"] for item in found]
    assert len(set(rows)) == len(rows)
    if source == "Songs" or "n = " not in condition:
        assert set(rows) == _expected(condition)

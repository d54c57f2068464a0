import pytest

from .client import PartiQL

OPERAND = "Incorrect operand type for operator or function; operator or function: "


@pytest.fixture
def song(partiql: PartiQL) -> PartiQL:
    partiql.song(
        "a",
        "t",
        n={"N": "5"},
        s={"S": "abc"},
        yes={"BOOL": True},
        nul={"NULL": True},
        tags={"SS": ["x", "y"]},
        m={"M": {"k": {"L": [{"S": "c"}]}}},
        b={"B": "AQI="},
    )
    return partiql


def holds(partiql: PartiQL, condition: str) -> bool:
    return len(partiql.items(f"SELECT * FROM Songs WHERE artist = 'a' AND title = 't' AND {condition}")) == 1


def message(partiql: PartiQL, condition: str) -> str | None:
    return partiql.message(f"SELECT * FROM Songs WHERE artist = 'a' AND {condition}")


@pytest.mark.parametrize(
    "condition",
    [
        "n = 5 AND n <> 6 AND n != '5' AND n < 6 AND n <= 5 AND n > 4 AND n >= 5",
        "5 = n AND 4 < n",
        "n BETWEEN 5 AND 6 AND n NOT BETWEEN 6 AND 7",
        "n IN [4, 5] AND n IN (5) AND n NOT IN [1, 2]",
        "n IN <<5, 6>>",
        "NOT n = 6 AND NOT nope = 1",
        "nope <> 1",
        "(n = 6 OR s = 'abc')",
        "begins_with(s, 'ab') AND BEGINS_WITH(\"s\", 'abc') AND NOT begins_with(nope, 'a')",
        "contains(s, 'bc') AND contains(tags, 'x') AND NOT contains(tags, 'z')",
        "size(s) = 3 AND size(tags) > 1 AND size(b) = 2",
        "attribute_exists(m.k[0]) AND attribute_not_exists(m.nope)",
        "attribute_type(n, 'N') AND NOT attribute_type(n, 'S')",
        "nope IS MISSING AND n IS NOT MISSING",
        "nul IS NULL AND n IS NOT NULL AND nope IS NOT NULL",
        "yes IS BOOL AND s IS STRING AND n IS NUMERIC AND b IS BLOB AND m IS STRUCT AND m IS TUPLE AND m.k IS LIST",
        "m.k[0] = 'c' AND m['k'][0] = 'c'",
        "m = {'k': ['c']} AND tags = <<'y', 'x'>>",
        "attribute_exists(n) = true AND true = attribute_exists(n) AND attribute_exists(nope) = false",
        "attribute_exists(n) <> 1 AND attribute_exists(n) = yes",
        "(n BETWEEN 0 AND 5) = true AND (n = 6 OR s = 'x') = false",
        "attribute_exists(n) = attribute_exists(s) AND attribute_exists(nope) IN [true, false]",
    ],
)
def test_a_condition_holds(song: PartiQL, condition: str) -> None:
    assert holds(song, condition)


@pytest.mark.parametrize(
    "condition",
    [
        "n = '5'",
        "nope = 1",
        "nope < 1",
        "s < 5",
        "nope IS NULL",
        "n IS STRING",
        "attribute_exists(n) = 1",
        "attribute_exists(n) = s",
        "NOT attribute_exists(n) = true",
        "(attribute_exists(n) = true) = false",
    ],
)
def test_a_condition_does_not_hold(song: PartiQL, condition: str) -> None:
    assert not holds(song, condition)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("n < true", f"{OPERAND}<, operand type: BOOL"),
        ("n >= [1]", f"{OPERAND}>=, operand type: L"),
        ("n BETWEEN NULL AND 1", f"{OPERAND}BETWEEN, operand type: NULL"),
        ("attribute_exists(n) > false", f"{OPERAND}>, operand type: BOOL"),
        ("begins_with(s, 1)", f"{OPERAND}begins_with, operand type: N"),
        ("attribute_type(n, 1)", f"{OPERAND}attribute_type, operand type: N"),
        ("attribute_type(n, 'X')", "Invalid attribute type name found; type: X, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}"),
        ("attribute_exists('n')", "Operator or function requires a document path; operator or function: attribute_exists"),
        (
            "attribute_exists()",
            "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 0",
        ),
        ("n IN [" + ", ".join(map(str, range(101))) + "]", "The IN operator is provided with too many operands; number of operands: 101"),
        ("EXISTS(n)", "Unrecognized function: exists at 1:44:6"),
        ("set_add(tags, <<'x'>>) = tags", "Unrecognized function: set_add at 1:44:7"),
        ("n = nope(s)", "Unrecognized function: nope at 1:48:4"),
        ("title.k = 1", "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: title"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(song: PartiQL, condition: str, expected: str) -> None:
    assert message(song, condition) == expected


def test_types_of_parameters_are_checked_before_the_table_is_looked_for(partiql: PartiQL) -> None:
    assert partiql.message("SELECT * FROM Nowhere WHERE a < ?", {"BOOL": True}) == f"{OPERAND}<, operand type: BOOL"


def test_conditions_compared_with_conditions_cannot_grow_without_bound(partiql: PartiQL) -> None:
    condition = "attribute_exists(a)"
    for _ in range(30):
        condition = f"({condition} = attribute_exists(a))"
    assert "too many operators" in (message(partiql, condition) or "")


def test_deep_alternations_are_answered(song: PartiQL) -> None:
    condition = "n = 5"
    for level in range(50):
        condition = f"(n = {level} {'AND' if level % 2 else 'OR'} ({condition}))"
    assert holds(song, condition) in (True, False)


OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
DUPLICATES = "One or more parameter values were invalid: Input collection "
NESTING = "Nesting Levels have exceeded supported limits under "


def inserted(partiql: PartiQL, literal: str) -> object:
    partiql.run(f"INSERT INTO Songs VALUE {{'artist': 'a', 'title': 't', 'x': {literal}}}")
    stored = partiql.stored("a", "t")
    assert stored is not None
    return stored["x"]


def insert_message(partiql: PartiQL, literal: str) -> str | None:
    return partiql.message(f"INSERT INTO Songs VALUE {{'artist': 'a', 'title': 't', 'x': {literal}}}")


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'it''s'", {"S": "it's"}),
        ("-1.50e-3", {"N": "-0.0015"}),
        ("1E3", {"N": "1000"}),
        ("-0", {"N": "0"}),
        ("0e99999999", {"N": "0"}),
        ("12345678901234567890123456789012345678", {"N": "12345678901234567890123456789012345678"}),
        ("true", {"BOOL": True}),
        ("NULL", {"NULL": True}),
        ("[1, 'a', <<2, 3>>]", {"L": [{"N": "1"}, {"S": "a"}, {"NS": ["2", "3"]}]}),
        ("{'a': {'b': []}}", {"M": {"a": {"M": {"b": {"L": []}}}}}),
        ("<<'a', 'b'>>", {"SS": ["a", "b"]}),
    ],
)
def test_a_literal_is_stored_as_its_value(partiql: PartiQL, literal: str, value: object) -> None:
    assert inserted(partiql, literal) == value


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("1e126", f"{OVERFLOW} under root"),
        ("1e-131", f"{UNDERFLOW} under root"),
        ("1e1999999999", f"{OVERFLOW} under root"),
        ("{'a': 1e126}", f"{OVERFLOW} under root.a"),
        ("[1, 1e126]", f"{OVERFLOW} under root[1]"),
        ("1" * 39, "Attempting to store more than 38 significant digits in a Number under root"),
        ("<<>>", "Empty bags are not supported"),
        ("<<1, 'a'>>", "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"),
        ("<<[1]>>", "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"),
        ("<<'a', 'a'>>", f"{DUPLICATES}[a, a] contains duplicates."),
        ("<<2, 2.0>>", f"{DUPLICATES}[2, 2.0] contains duplicates! under root"),
        ("{'a':" * 32 + "1" + "}" * 32, NESTING + "root" + ".a" * 32),
        ("[" * 32 + "]" * 32, NESTING + "root" + "[0]" * 31),
        ("set_add(<<'a'>>, <<'b'>>)", "Unsupported data type: set_add under key root at 1:60:7"),
        ("b", "Unsupported data type: Id under key root at 1:60:1"),
    ],
)
def test_a_literal_that_cannot_be_stored_is_refused(partiql: PartiQL, literal: str, message: str) -> None:
    assert insert_message(partiql, literal) == message


def test_thirty_one_levels_can_be_stored(partiql: PartiQL) -> None:
    assert inserted(partiql, "{'a':" * 31 + "1" + "}" * 31) is not None


def test_a_parameter_may_be_a_member_of_the_item_but_not_part_of_a_literal(partiql: PartiQL) -> None:
    partiql.run("INSERT INTO Songs VALUE {'artist': ?, 'title': 't'}", {"S": "a"})
    assert partiql.stored("a", "t") is not None
    text = "INSERT INTO Songs VALUE {'artist': 'a', 'title': 'u', 'x': {'y': [1, ?]}}"
    place = f"1:{text.index('?') + 1}:1"
    assert partiql.message(text, {"S": "b"}) == f"Unsupported data type: Parameter under key root.y[1] at {place}"

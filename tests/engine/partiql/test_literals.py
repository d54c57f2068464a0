import pytest

from .client import PartiQL

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

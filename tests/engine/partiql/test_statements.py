import pytest

from gateleg.engine.errors import EngineError
from gateleg.engine.partiql import grammar
from gateleg.engine.partiql.grammar import StatementError
from gateleg.engine.partiql.statements import parse, read_parameters

from .client import MALFORMED, PartiQL


def refusal(text: str) -> str:
    with pytest.raises(StatementError) as caught:
        parse(text)
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("SLECT * FROM Songs WHERE a = 1", "Expected data manipulation"),
        ("UPDATE My-Songs SET a = 1 WHERE b = 2", "Expected data manipulation"),
        ("UPDATE Songs SET WHERE a = 1", "Expected identifier for simple path"),
        ("UPDATE Songs SET a WHERE a = 1", "Expected '='"),
        ("DELETE Songs", "Expected FROM after DELETE"),
        ("DELETE FROM", "Expected identifier for simple path"),
        ("DELETE FROM WHERE a = 1", "Expected identifier for simple path"),
        ("SELECT * Songs", "Expected FROM after SELECT list"),
        ("SELECT * FROM", "Unexpected term"),
        ("", "Unexpected term"),
        ("SELECT * FROM Songs WHERE", "Unexpected term"),
        ("SELECT * FROM Songs WHERE;", "Unexpected term"),
        ("SELECT * FROM Songs WHERE NOT", "Unexpected term"),
        ("SELECT * FROM Songs WHERE (", "Unexpected term"),
        ("SELECT * FROM Songs WHERE a = 1 AND", "Missing right-hand side expression of infix operator"),
        ("SELECT * FROM Songs WHERE a BETWEEN 1 AND", "Expected expression after AND"),
        ("SELECT * FROM Songs WHERE a BETWEEN 1", "Expected AND"),
        ("SELECT * FROM Songs WHERE ORDER BY a", "Unexpected keyword"),
        ("SELECT * FROM Songs WHERE key = 1", "Unexpected keyword"),
        ("SELECT * FROM Songs WHERE IS NULL", "Unexpected operator"),
        ("SELECT * FROM Songs WHERE a = LIKE", "Unexpected operator"),
        ("SELECT * FROM Songs WHERE a = = 1", "Unexpected operator"),
        ("SELECT * FROM Songs WHERE a IS TUNE", "Expected type name"),
        ("SELECT * FROM Songs WHERE m.inner = 1", "Invalid path dot component"),
        ("SELECT * FROM Songs WHERE contains(a, 1", "Expected RIGHT_PAREN"),
        ("SELECT * FROM Songs WHERE a IN [1", "Expected RIGHT_BRACKET"),
        ("SELECT * FROM Songs WHERE a = 1 b", "Unexpected token after expression"),
        ("SELECT * FROM Songs WHERE a = 1)", "Unexpected token after expression"),
        ("SELECT * FROM Songs ORDER BY a WHERE a = 1", "Unexpected token after expression"),
        ("DELETE FROM Songs WHERE a = 1 ORDER BY a", "Unexpected token after expression"),
        ("INSERT INTO Songs s VALUE {'a': 1}", "Unexpected token after expression"),
        ("FROM Songs SET a = 1 WHERE b = 2", "Unexpected token after expression"),
        ("SELECT * FROM Songs; SELECT * FROM Songs", "Unexpected token after semicolon. (Only one query is allowed.)"),
        ("DELETE FROM Songs WHERE a = 1 RETURNING OLD *", "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."),
        ("SELECT * FROM Songs WHERE a = 1 # no", ""),
        ("SELECT * FROM Songs WHERE a = 1 /* no", ""),
        ("SELECT * FROM Songs WHERE a = 'no", ""),
        ("SELECT * FROM `Songs`", ""),
        ("SELECT * FROM Songs WHERE a = 1e2147483648", ""),
        ("SELECT * FROM Songs WHERE a = 1.5e-2147483647", ""),
        ("SELECT * FROM Songs WHERE a = 12x", ""),
    ],
)
def test_a_text_that_is_no_statement_is_refused(text: str, detail: str) -> None:
    assert refusal(text) == MALFORMED + detail


@pytest.mark.parametrize(
    "text",
    [
        "select * from Songs where a = 1",
        "SELECT/**/* FROM Songs -- all of them\nWHERE a/* b */= 1 --",
        "-- first\nSELECT * FROM Songs WHERE a = 1;",
        'SELECT * FROM "Songs" WHERE "a" = 1 ; -- last',
    ],
)
def test_letter_case_comments_quotes_and_a_semicolon_change_nothing(text: str) -> None:
    statement = parse(text).statement
    assert isinstance(statement, grammar.SelectStatement)
    assert isinstance(statement.source, grammar.Name)
    assert statement.source.name == "Songs"
    assert isinstance(statement.where, grammar.OperatorExpression)
    assert statement.where.operator == "="


def where(text: str) -> grammar.Tree:
    statement = parse(f"SELECT * FROM Songs WHERE {text}").statement
    assert isinstance(statement, grammar.SelectStatement)
    assert statement.where is not None
    return statement.where


def shape(tree: grammar.Tree) -> object:
    """A tree of operations as nested tuples."""
    if isinstance(tree, grammar.OperatorExpression):
        return (tree.operator, *(shape(part) for part in tree.operands))
    if isinstance(tree, grammar.Name):
        return tree.name
    return tree.text if isinstance(tree, grammar.Constant) else type(tree).__name__


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1 OR b = 2 AND NOT c = 3", ("or", ("=", "a", "1"), ("and", ("=", "b", "2"), ("not", ("=", "c", "3"))))),
        ("a BETWEEN 1 AND 2 AND b = 3", ("and", ("between", "a", "1", "2"), ("=", "b", "3"))),
        ("a NOT BETWEEN 1 AND 2 OR b NOT IN [1]", ("or", ("not between", "a", "1", "2"), ("not in", "b", "CollectionLiteral"))),
        ("a = 1 AND b = 2 AND c = 3", ("and", ("=", "a", "1"), ("=", "b", "2"), ("=", "c", "3"))),
        ("a = - - 1", ("=", "a", "1")),
        ("a = -/* c */+1.5e3", ("=", "a", "-1.5e3")),
        ("a = .5", ("=", "a", ".5")),
        ("a != 'it''s'", ("<>", "a", "it's")),
        ("NOT NOT NOT a = 1", ("not", ("=", "a", "1"))),
        ("a IS NOT MISSING", ("not", "TypeTest")),
    ],
)
def test_operators_bind_by_their_precedence(text: str, expected: object) -> None:
    assert shape(where(text)) == expected


def test_parameters_are_counted_outside_texts_and_comments() -> None:
    assert parse("SELECT * FROM Songs WHERE a = ? AND b = '?' /* ? */ AND \"?\" IN [?, ?]").parameters == 3


def test_a_refusal_tells_line_column_and_length() -> None:
    text = "SELECT a,\n  COUNT(*) FROM Songs"
    assert StatementError("Here", (12, 17)).error(text).message == "Here at 2:3:5"


@pytest.mark.parametrize("brackets", ["()", "[]", "<<>>"])
def test_brackets_without_end_are_refused_without_exhausting_the_stack(brackets: str) -> None:
    opening = brackets[: len(brackets) // 2]
    assert refusal("SELECT * FROM Songs WHERE a = " + opening * (8000 // len(opening))).startswith(MALFORMED)


@pytest.mark.parametrize(
    "text", ["a" + " - 1" * 1900 + " = 1", "a" + " = 1" * 1900, "f(" * 1900 + ")" * 1900, "{'a':" * 1500 + "1" + "}" * 1500]
)
def test_chains_of_operators_and_calls_are_refused_without_exhausting_the_stack(text: str) -> None:
    assert refusal(f"SELECT * FROM Songs WHERE {text}") == MALFORMED


def test_long_conditions_and_a_hundred_parentheses_are_read() -> None:
    assert isinstance(where(" AND ".join(f"a{i} = {i}" for i in range(600))), grammar.OperatorExpression)
    assert shape(where("(" * 100 + "a = 1" + ")" * 100)) == ("=", "a", "1")


REFUSED = "The parameter cannot be converted to a numeric value"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e99999999999", f"{REFUSED}: 1e99999999999"),
        ("1e2147483648", f"{REFUSED}: 1e2147483648"),
        ("1e-2147483648", f"{REFUSED}: 1e-2147483648"),
        ("1e2147483647", UNDERFLOW),
        ("1e2147483646", OVERFLOW),
        ("1e-2147483647", UNDERFLOW),
        ("abc", f"{REFUSED}: abc"),
        ("", REFUSED),
    ],
)
def test_numbers_are_read_as_java_reads_them(text: str, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        read_parameters([{"N": text}])
    assert caught.value.message == message


def test_parameters_are_checked_before_the_statement(partiql: PartiQL) -> None:
    message = "One or more parameter values were invalid: Input collection [a, a] contains duplicates."
    assert partiql.message("UPDATE Songs SET WHERE", {"SS": ["a", "a"]}) == message


def test_there_must_be_as_many_parameters_as_the_statement_takes(partiql: PartiQL) -> None:
    message = "Number of parameters in request and statement don't match."
    assert partiql.message("SELECT * FROM Songs WHERE artist = ?") == message
    assert partiql.message("SELECT * FROM Nowhere", {"S": "a"}) == message


def test_parameters_are_canonical(partiql: PartiQL) -> None:
    partiql.run("INSERT INTO Plain VALUE {'id': ?}", {"N": "1.50"})
    assert partiql.items("SELECT * FROM Plain WHERE id = ?", {"N": "15e-1"}) == [{"id": {"N": "1.5"}}]

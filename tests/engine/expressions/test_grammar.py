import pytest

from tests.engine.expressions.refusal import condition_refused, refused, update_refused


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("SET _123 = :v", "_", "SET _123"),
        ("SET 123a = :v", "123", "SET 123a"),
        ("ADD hits : incr", ":", "hits : incr"),
        ("SET a = :v, #, b = :v", "#", ", #,"),
        ("SET a = :v,", "<EOF>", ","),
        ("SET a = :v,  ", "<EOF>", ","),
        ("SET", "<EOF>", "SET"),
        ("SET a = b + c + d", "+", "c + d"),
        ("SET a[:i] = :v", ":i", "[:i]"),
        ("SET a[#i] = :v", "#i", "[#i]"),
        ("SET :a = :v", ":a", "SET :a ="),
    ],
)
def test_syntax_errors_quote_the_token_and_its_neighbours(text: str, token: str, near: str) -> None:
    assert update_refused(text) == f'Syntax error; token: "{token}", near: "{near}"'


def test_a_syntax_error_at_the_first_token_has_no_neighbour_before_it() -> None:
    assert (
        refused("GetItem", ProjectionExpression="!!! INVALID !!!") == 'Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"'
    )


def test_a_syntax_error_keeps_the_letter_case_of_keywords() -> None:
    assert condition_refused("a and and b = c") == 'Syntax error; token: "and", near: "a and and"'


def test_a_call_without_operands_is_a_syntax_error() -> None:
    assert condition_refused("attribute_exists()") == 'Syntax error; token: ")", near: "()"'


@pytest.mark.parametrize(
    "text",
    [
        "things are not gonna be ok",
        "a > 4",
        "attribute_exists(Pictures-RearView)",
        'attribute_exists("Pictures.RearView")',
        "attribute_exists(Pictures..RearView)",
        "attribute_exists(Pi#ctures.RearView)",
        "attribute_exists(asdf[a])",
        "a in b, c",
        "a > between",
        "a in b",
        "a in ()",
        "a in (b,c,)",
        "(a)between(b.(c.d))and(c)",
        "(a)between(b.c.d)and((c)",
        "#$.b > a",
        "a > :things.stuff",
        "b[:a] > a",
        "b[#_] > a",
        "ü > a",
        "(a)between(b.c[4.5].#d)and(:a)",
        "size(a).b > a",
        "(size(a)).b > a",
        "size(a)[0] > a",
        "(size(a))[0] > a",
        "a",
        ":val",
        "NOT a",
        "a AND :val",
        "a OR NOT :val",
        "a = :val OR NOT :val",
        "a = b = c",
        "(a = b) = c",
        "a = (b = c)",
        "a = NOT b",
        "contains(a = b, c)",
        "a BETWEEN b OR c",
        "a BETWEEN b",
        "a BETWEEN b AND",
        "AND a = b",
        "a = b)",
        "(a = b",
        "a = b c = d",
        "a, b",
        "a.and = b",
        "a != b",
    ],
)
def test_conditions_that_no_grammar_allows_are_syntax_errors(text: str) -> None:
    assert condition_refused(text).startswith('Syntax error; token: "')


@pytest.mark.parametrize(
    "text",
    [
        "whatever",
        "set a",
        "add a",
        "delete a",
        "set a=set",
        "remove a = b",
        "add a = b",
        "delete a b",
        "delete a if_not_exist(b)",
        "add abort b",
        "remove a b",
        "set a b",
        "remove :a",
        "set a = b / c",
        "set a = b * c",
        'set a[1] = "eight"',
        "set a[1] = 1",
        "SET a = if_not_exist(a, 100)",
        "SET if_not_exist(a, b) = a",
        "set (a = (b + c))",
        "set a = (b.c).d + e",
        "set a = (b.c)[0] + e",
        "set a = b + c + d",
        "set a = (b + c) + d",
        "set a = if_not_exists(b, c + d)",
        "set a = _f(b, c)",
        "set a = b)",
        "set a = (b",
        "set a = ",
        "set a = b set",
        "set a = b, set c = d",
    ],
)
def test_updates_that_no_grammar_allows_are_syntax_errors(text: str) -> None:
    assert update_refused(text).startswith('Syntax error; token: "')


@pytest.mark.parametrize("text", ["a,", ",a", "a,,b", "a[-1]", "a[]", "a..b", "a.", "a b", "(a)", ":a", "a[1.5]"])
def test_projections_that_no_grammar_allows_are_syntax_errors(text: str) -> None:
    assert refused("GetItem", ProjectionExpression=text).startswith('Invalid ProjectionExpression: Syntax error; token: "')

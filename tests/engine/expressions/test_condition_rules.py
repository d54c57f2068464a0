"""What a condition is refused for, and in which order."""

from typing import Any

import pytest

from tests.engine.expressions.refusal import condition_refused, holds, refused

REDUNDANT = "The expression has redundant parentheses;"


@pytest.mark.parametrize(
    "text",
    [
        "((a = b))",
        "a=a and a > ((views))",
        "(a)between(((b.c)).d)and(c)",
        "a > whatever((:things), ((a)))",
        "a=a AND ((a=a AND a=a)) AND a=a",
        "a=a OR ((a=a OR a=a)) OR a=a",
        "a=a AND ((a=a AND (a=a AND a=a)))",
        "((attribute_exists(a)))",
    ],
)
def test_redundant_parentheses_are_reported_before_anything_but_syntax(text: str) -> None:
    assert condition_refused(text) == REDUNDANT


@pytest.mark.parametrize(
    "text", ["(a <> b)", "((a <> b) and b <> c)", "(attribute_exists(a) AND (b <> c))", "(a) <> (b)", "NOT (a <> b) OR a <> b"]
)
def test_one_pair_of_parentheses_is_never_redundant(text: str) -> None:
    assert holds(text, {"a": {"N": "1"}})


@pytest.mark.parametrize(
    ("text", "name"),
    [("a=a and whatever((:things)) > a", "whatever"), ("attRIbute_exIsts((views), #a)", "attRIbute_exIsts"), ("a < f(f(f(b)))", "f")],
)
def test_functions_that_do_not_exist_are_named(text: str, name: str) -> None:
    assert condition_refused(text) == f"Invalid function name; function: {name}"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a=a and attribute_exists((views), (#a)) > b", "attribute_exists"),
        ("attribute_not_exists(things) > b", "attribute_not_exists"),
        ("attribute_type(things, :a) > b", "attribute_type"),
        ("begins_with(things, a) > b", "begins_with"),
        ("contains(:things, c) > b", "contains"),
        ("size(contains(a, b)) > a", "contains"),
        ("size(things)", "size"),
        ("NOT size(things)", "size"),
        ("(size(things)) AND a = b", "size"),
        ("a between b and attribute_exists(things)", "attribute_exists"),
        ("a in (b, attribute_exists(things))", "attribute_exists"),
        ("if_not_exists(a, b) = :c", "if_not_exists"),
        ("list_append(a, b) = :c", "list_append"),
    ],
)
def test_functions_in_the_wrong_place_are_named(text: str, name: str) -> None:
    assert condition_refused(text) == f"The function is not allowed to be used this way in an expression; function: {name}"


@pytest.mark.parametrize(("text", "word"), [("attribute_exists(views, #a)", "views"), (":a < abOrT", "abOrT"), ("a.Status = :a", "Status")])
def test_reserved_words_are_refused_as_written(text: str, word: str) -> None:
    assert condition_refused(text) == f"Attribute name is a reserved keyword; reserved keyword: {word}"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("attribute_exists(#Pictures.RearView, :a) and a=a", "#Pictures"),
        ("begins_with(Pictures.#RearView)", "#RearView"),
        ("(#P between :lo and :hi) and (#PC in (:cat1, :cat2))", "#P"),
        ("#4g > a", "#4g"),
        ("#_ > a", "#_"),
        ("(a)between(b.c[45].#d)and(:a)", "#d"),
    ],
)
def test_undefined_names_are_reported(text: str, name: str) -> None:
    assert condition_refused(text) == f"An expression attribute name used in the document path is not defined; attribute name: {name}"


@pytest.mark.parametrize(("text", "name"), [("begins_with(:hello, #a, #b)", ":hello"), (":a < :b", ":a"), (":_ > a", ":_")])
def test_undefined_values_are_reported_in_the_order_of_the_text(text: str, name: str) -> None:
    assert condition_refused(text) == f"An expression attribute value used in expression is not defined; attribute value: {name}"


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("attribute_exists(things, a) and a=a", "attribute_exists", 2),
        ("attribute_type(things)", "attribute_type", 1),
        ("begins_with(things, size(a), b)", "begins_with", 3),
        ("contains(things)", "contains", 1),
        ("size(things, a) > b", "size", 2),
    ],
)
def test_functions_count_their_operands(text: str, name: str, count: int) -> None:
    expected = f"Incorrect number of operands for operator or function; operator or function: {name}, number of operands: {count}"
    assert condition_refused(text) == expected


@pytest.mark.parametrize("value", [{"BOOL": True}, {"NULL": True}, {"SS": ["a"]}, {"NS": ["1"]}, {"BS": ["YQ=="]}, {"L": []}, {"M": {}}])
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_only_scalars_have_an_order(operator: str, value: dict[str, Any]) -> None:
    tag = next(iter(value))
    expected = f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {tag}"
    assert condition_refused(f"a {operator} :v", {":v": value}) == expected
    assert condition_refused(f"attribute_exists(b) OR :v {operator} a", {":v": value}) == expected


@pytest.mark.parametrize(
    ("text", "value", "name", "tag"),
    [
        ("attribute_type(a, size(a)) and a=a and a=:a", {"N": "1"}, "attribute_type", "N"),
        ("attribute_type(a, :a)", {"B": "YQ=="}, "attribute_type", "B"),
        ("attribute_type(a, b) and a = :a", {"S": "S"}, "attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"),
        ("begins_with(a, size(a)) and a=:a", {"N": "1"}, "begins_with", "N"),
        ("begins_with(a, :a)", {"BOOL": True}, "begins_with", "BOOL"),
        ("begins_with(:a, a)", {"NS": ["1"]}, "begins_with", "NS"),
        ("size(size(a)) > :a", {"N": "1"}, "size", "N"),
        ("attribute_not_exists(size(:a))", {"N": "1"}, "size", "N"),
        ("size(:a) > a", {"NULL": True}, "size", "NULL"),
        ("b BETWEEN :a AND c", {"L": []}, "BETWEEN", "L"),
    ],
)
def test_functions_look_at_the_types_of_values(text: str, value: dict[str, Any], name: str, tag: str) -> None:
    expected = f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {tag}"
    assert condition_refused(text, {":a": value}) == expected


def test_a_kept_expression_still_looks_at_each_request_s_values() -> None:
    assert not holds("kept < :v", {}, {":v": {"N": "1"}})
    assert "operand type: BOOL" in condition_refused("kept < :v", {":v": {"BOOL": True}})
    assert "attribute value: :v" in condition_refused("kept < :v", {":other": {"N": "1"}})


def test_attribute_type_takes_the_name_of_a_type() -> None:
    assert not holds("attribute_type(kept, :t)", {}, {":t": {"S": "SS"}})
    for _ in range(2):
        message = condition_refused("attribute_type(kept, :t)", {":t": {"S": "DOG"}})
        assert message == "Invalid attribute type name found; type: DOG, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"


@pytest.mark.parametrize(
    ("text", "value", "name"),
    [
        ("attribute_exists(:a) and a=a", {"S": "1"}, "attribute_exists"),
        ("attribute_not_exists(size(:a))", {"S": "1"}, "attribute_not_exists"),
    ],
)
def test_existence_is_asked_of_paths_only(text: str, value: dict[str, Any], name: str) -> None:
    assert condition_refused(text, {":a": value}) == f"Operator or function requires a document path; operator or function: {name}"


@pytest.mark.parametrize(
    ("text", "operator", "path"),
    [
        ("a = a AND #a = b AND :views > a", "=", "[a]"),
        ("#a <> a", "<>", "[a]"),
        ("a > #a", ">", "[a]"),
        ("((a=a) OR (a=a))", "=", "[a]"),
        ("contains(ab.bc[1].a, ab.bc[1].#a)", "contains", "[ab, bc, [1], a]"),
        ("attribute_type(ab.bc[1].#a, ab.bc[1].a)", "attribute_type", "[ab, bc, [1], a]"),
        ("begins_with(ab.bc[1].a, ab.bc[1].#a)", "begins_with", "[ab, bc, [1], a]"),
        ("a IN (b, #a)", "IN", "[a]"),
        ("a BETWEEN b AND a", "BETWEEN", "[a]"),
    ],
)
def test_an_operand_may_not_meet_itself(text: str, operator: str, path: str) -> None:
    expected = (
        "The first operand must be distinct from the remaining operands for this operator or function; "
        f"operator: {operator}, first operand: {path}"
    )
    assert condition_refused(text, names={"#a": "a"}) == expected


def test_a_value_may_meet_itself() -> None:
    assert holds(":a = :a", {}, {":a": {"N": "1"}})


def test_bounds_of_between_are_of_one_type_and_in_order() -> None:
    assert not holds("a BETWEEN :l AND :h", {}, {":l": {"S": "a"}, ":h": {"S": "b"}})
    for _ in range(2):
        assert condition_refused("a BETWEEN :l AND :h", {":l": {"N": "1"}, ":h": {"S": "a"}}) == (
            "The BETWEEN operator requires same data type for lower and upper bounds; "
            "lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:a}"
        )
        assert condition_refused("a BETWEEN :l AND :h", {":l": {"N": "10"}, ":h": {"N": "9"}}) == (
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            "lower bound operand: AttributeValue: {N:10}, upper bound operand: AttributeValue: {N:9}"
        )


def test_in_takes_a_hundred_operands() -> None:
    values = {f":v{n}": {"N": str(n)} for n in range(101)}
    text = "a IN ({})"
    hundred = {key: values[key] for key in list(values)[:100]}
    assert holds(text.format(", ".join(hundred)), {"a": {"N": "99"}}, hundred)
    assert condition_refused(text.format(", ".join(values)), values) == (
        "The IN operator is provided with too many operands; number of operands: 101"
    )


def test_clauses_are_checked_one_after_the_other() -> None:
    assert "first operand: [a]" in condition_refused("a = a AND #undefined = b")
    assert "attribute name: #undefined" in condition_refused("#undefined = b AND a = a")


def test_paths_have_at_most_32_levels() -> None:
    assert not holds("attribute_exists(a" + ".b" * 31 + ")", {})
    assert condition_refused("attribute_exists(a" + ".b" * 32 + ")") == "The document path has too many nesting levels; nesting levels: 33"


def test_positions_in_lists_have_a_range() -> None:
    assert not holds("attribute_exists(a[2147483647])", {})
    assert (
        condition_refused("attribute_exists(a[99999999999999])") == "List index is not within the allowable range; index: [99999999999999]"
    )


@pytest.mark.parametrize(
    ("operation", "parameter", "told"),
    [
        ("PutItem", "ConditionExpression", " expression size: 4097"),
        ("Scan", "FilterExpression", " expression size: 4097"),
        ("Query", "KeyConditionExpression", ""),
        ("GetItem", "ProjectionExpression", ""),
        ("UpdateItem", "UpdateExpression", ""),
    ],
)
def test_expressions_have_at_most_4096_bytes(operation: str, parameter: str, told: str) -> None:
    expected = f"Invalid {parameter}: Expression size has exceeded the maximum allowed size;{told}"
    assert refused(operation, **{parameter: "x" * 4097}) == expected
    assert refused(operation, **{parameter: "(" * 4097}) == expected


def test_bytes_are_counted_not_characters() -> None:
    assert condition_refused("é" * 2049).endswith("expression size: 4098")


def test_three_hundred_operators_are_enough() -> None:
    text = "a<b " + "or (a<b " * 149 + ")" * 149
    assert holds(text, {"a": {"N": "1"}, "b": {"N": "2"}})
    assert condition_refused("a<b " + "or (a<b " * 150 + ")" * 150) == "The expression contains too many operators; operator count: 301"
    assert condition_refused("not " * 1000 + "a<b") == "The expression contains too many operators; operator count: 301"


def test_three_hundred_operators_may_be_nested_as_deep_as_they_go() -> None:
    item = {"a": {"N": "1"}, "b": {"N": "2"}}
    alternating = "a<b " + "".join(f"{'and' if level % 2 else 'or'} (a<b " for level in range(149)) + ")" * 149
    assert holds(alternating, item)
    negated = "a<b " + "and not (b<a or not (a<b " * 37 + ")" * 74
    assert holds(negated, item)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(" * 4096, 'Syntax error; token: "<EOF>", near: "("'),
        ("(" * 2046 + "a<b" + ")" * 2046, REDUNDANT),
        ("a < " + "f(" * 1355 + "b" + ")" * 1355, "Invalid function name; function: f"),
        (
            "a < " + "size(" * 250 + "b" + ")" * 250,
            "Incorrect operand type for operator or function; operator or function: size, operand type: N",
        ),
        ("a < " + "size(" * 680 + "b" + ")" * 680, "The expression contains too many operators; operator count: 301"),
        ("a" + "[1]" * 1300 + " = b", "The document path has too many nesting levels; nesting levels: 1301"),
    ],
)
def test_hostile_nesting_gets_dynamodb_s_answer(text: str, expected: str) -> None:
    assert condition_refused(text) == expected


def test_an_empty_expression_is_refused() -> None:
    assert condition_refused("") == "The expression can not be empty;"

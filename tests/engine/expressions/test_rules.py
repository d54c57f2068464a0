"""What expressions are refused for beyond the grammar, and in which order; key conditions; the size of an update."""

from typing import Any

import pytest

from gateleg.engine.expressions import prepare
from gateleg.engine.values import MAX_ITEM_SIZE
from tests.engine.expressions.refusal import condition_refused, holds, refused, update_refused, updated
from tests.engine.world import Item, World, text

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


VALUES: dict[str, Any] = {":a": {"S": "a"}, ":b": {"N": "1"}}


@pytest.mark.parametrize(("text", "word"), [(" set #c = :c set abOrt = true ", "abOrt"), (" remove Absolute ", "Absolute")])
def test_reserved_words_come_first(text: str, word: str) -> None:
    assert update_refused(text) == f"Attribute name is a reserved keyword; reserved keyword: {word}"


def test_unknown_functions_come_before_repeated_sections() -> None:
    assert update_refused("set #c = if_not_exist(:c) set c = d") == "Invalid function name; function: if_not_exist"
    assert update_refused("SET a = LIST_APPEND(:a, :b)") == "Invalid function name; function: LIST_APPEND"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SET a = size(b)", "size"),
        ("SET a = attribute_exists(b)", "attribute_exists"),
        ("SET a = list_append(list_append(:a, :b), :c)", "list_append"),
        ("SET a = if_not_exists(a, list_append(:a, :b))", "list_append"),
    ],
)
def test_functions_of_updates_in_the_wrong_place_are_named(text: str, name: str) -> None:
    assert update_refused(text) == f"The function is not allowed to be used this way in an expression; function: {name}"


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("set a = #c set c = :d", "SET"),
        ("remove #d set a = b remove e", "REMOVE"),
        ("add #d :e set a = b add e :f", "ADD"),
        ("delete #d :e set a = b delete #e :f", "DELETE"),
    ],
)
def test_each_section_may_be_used_once(text: str, section: str) -> None:
    assert update_refused(text) == f'The "{section}" section can only be used once in an update expression;'


def test_names_are_looked_up_before_values() -> None:
    assert update_refused("SET a = if_not_exists(:c), #c = :d") == (
        "An expression attribute name used in the document path is not defined; attribute name: #c"
    )
    assert update_refused("SET a = if_not_exists(:c)") == (
        "An expression attribute value used in expression is not defined; attribute value: :c"
    )


@pytest.mark.parametrize(
    ("text", "one", "two"),
    [
        ("set d[1] = a, d.b = a, c[1].a = a, #c = if_not_exists(a)", "[c, [1], a]", "[c]"),
        ("set #c[3].#d = a, #c[3] = a", "[c, [3], [3]]", "[c, [3]]"),
        ("SET a = :a REMOVE a", "[a]", "[a]"),
        ("SET a = :a, a = :a", "[a]", "[a]"),
        ("SET a = :a, a.b = :a", "[a]", "[a, b]"),
        ("SET a[1][1] = :a, a[1] = :a", "[a, [1], [1]]", "[a, [1]]"),
        ("SET a.b.c.d.e = :a REMOVE a.b", "[a, b, c, d, e]", "[a, b]"),
    ],
)
def test_paths_may_not_overlap(text: str, one: str, two: str) -> None:
    names = {alias: name for alias, name in {"#c": "c", "#d": "[3]"}.items() if alias in text}
    assert update_refused(text, {":a": {"S": "a"}} if ":a" in text else None, names) == (
        "Two document paths overlap with each other; must remove or rewrite one of these paths; " + f"path one: {one}, path two: {two}"
    )


@pytest.mark.parametrize(
    ("text", "one", "two"),
    [
        ("set #c[3].#d = a, #c.#d[3] = if_not_exists(a)", "[c, [3], [3]]", "[c, [3], [3]]"),
        ("remove a.#c set a[1] = #d", "[a, c]", "[a, [1]]"),
        ("REMOVE a.b.c, a.b[2]", "[a, b, c]", "[a, b, [2]]"),
    ],
)
def test_paths_may_not_take_a_list_for_a_map(text: str, one: str, two: str) -> None:
    names = {alias: name for alias, name in {"#c": "c", "#d": "[3]"}.items() if alias in text}
    assert update_refused(text, None, names) == (
        "Two document paths conflict with each other; must remove or rewrite one of these paths; " + f"path one: {one}, path two: {two}"
    )


@pytest.mark.parametrize(
    ("text", "value", "operator", "named"),
    [
        ("set b = list_append(:a, a), c = if_not_exists(a) add a.b :a", {"S": "a"}, "ADD", "STRING"),
        ("add a.b :a", {"NULL": True}, "ADD", "NULL"),
        ("add a.b :a", {"BOOL": False}, "ADD", "BOOLEAN"),
        ("add a.b :a", {"B": "YQ=="}, "ADD", "BINARY"),
        ("add a.b :a", {"M": {}}, "ADD", "MAP"),
        ("add a.b :a", {"L": []}, "ADD", "LIST"),
        ("delete a.b :a", {"S": "a"}, "DELETE", "STRING"),
        ("delete a.b :a", {"N": "1"}, "DELETE", "NUMBER"),
    ],
)
def test_add_and_delete_look_at_the_type_of_their_operand(text: str, value: dict[str, Any], operator: str, named: str) -> None:
    expected = (
        f"Incorrect operand type for operator or function; operator: {operator}, operand type: {named}, "
        f"typeSet: ALLOWED_FOR_{operator}_OPERAND"
    )
    assert update_refused(text, {":a": value}) == expected


def test_a_kept_update_still_looks_at_each_request_s_values() -> None:
    assert updated("ADD kept :v", {}, {":v": {"N": "1"}}) == {"kept": {"N": "1"}}
    assert "operand type: STRING" in update_refused("ADD kept :v", {":v": {"S": "1"}})
    assert updated("SET kept = :v + :w", {}, {":v": {"N": "1"}, ":w": {"N": "1"}}) == {"kept": {"N": "2"}}
    assert "operand type: S" in update_refused("SET kept = :v + :w", {":v": {"N": "1"}, ":w": {"S": "1"}})


@pytest.mark.parametrize("name", ["if_not_exists", "list_append"])
def test_functions_of_updates_count_their_operands(name: str) -> None:
    assert update_refused(f"set a = {name}(c)") == (
        f"Incorrect number of operands for operator or function; operator or function: {name}, number of operands: 1"
    )


@pytest.mark.parametrize("text", ["set a = if_not_exists(:a, c)", "set a = if_not_exists(if_not_exists(b, c), :a)"])
def test_if_not_exists_asks_about_a_path(text: str) -> None:
    assert update_refused(text, {":a": {"S": "a"}}) == "Operator or function requires a document path; operator or function: if_not_exists"


@pytest.mark.parametrize("value", [{"S": "a"}, {"B": "YQ=="}, {"BOOL": True}, {"NULL": True}, {"SS": ["a"]}, {"NS": ["1"]}, {"M": {}}])
def test_functions_of_updates_look_at_the_types_of_values(value: dict[str, Any]) -> None:
    tag = next(iter(value))
    for operator, update in {"+": "set a = a + :v", "-": "set a = :v - a", "list_append": "set a = list_append(a, :v)"}.items():
        assert update_refused(update, {":v": value}) == (
            f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {tag}"
        )


def test_redundant_parentheses_are_refused() -> None:
    assert update_refused("set a = ((b))") == "The expression has redundant parentheses;"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET a = " + "f(" * 1350 + "b" + ")" * 1350, "Invalid function name; function: f"),
        ("SET a = " + "(" * 4000, 'Syntax error; token: "<EOF>", near: "("'),
        ("SET a = " + "(" * 2000 + "b" + ")" * 2000, "The expression has redundant parentheses;"),
        ("SET a" + ".b" * 2000 + " = c", "The document path has too many nesting levels; nesting levels: 2001"),
    ],
)
def test_hostile_nesting_of_updates_gets_dynamodb_s_answer(text: str, expected: str) -> None:
    assert update_refused(text) == expected


def test_an_update_has_at_most_300_operators_and_functions() -> None:
    fits = "SET " + ", ".join(f"a{n}=b+c" for n in range(300))
    assert len(updated(fits, {"b": {"N": "1"}, "c": {"N": "1"}})) == 302
    over = "SET " + ", ".join(f"a{n}=b+c" for n in range(301))
    assert update_refused(over) == "The expression contains too many operators; operator count: 301"


def test_a_long_chain_of_fallbacks_is_no_problem() -> None:
    text = "SET a=" + "if_not_exists(b," * 220 + ":v" + ")" * 220
    assert updated(text, {}, {":v": {"N": "1"}}) == {"a": {"N": "1"}}


def test_an_empty_update_is_refused() -> None:
    assert update_refused("") == "The expression can not be empty;"


ONE: dict[str, Any] = {"N": "1"}
ONE_EACH = "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"
TWO: dict[str, Any] = {"N": "2"}


def parts(text: str, values: dict[str, Any], names: dict[str, str] | None = None) -> dict[str, Any]:
    request: dict[str, Any] = {"KeyConditionExpression": text, "ExpressionAttributeValues": values}
    if names:
        request["ExpressionAttributeNames"] = names
    prepared = prepare(request, "Query")
    assert prepared.key_condition is not None
    return dict(prepared.key_condition.parts)


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("c=:c", "EQ"),
        ("c<:c", "LT"),
        ("c<=:c", "LE"),
        ("c>:c", "GT"),
        ("c>=:c", "GE"),
        (":c=c", "EQ"),
        (":c<c", "GT"),
        (":c<=c", "GE"),
        (":c>c", "LT"),
        (":c>=c", "LE"),
    ],
)
def test_a_comparison_may_be_written_from_either_side(text: str, operator: str) -> None:
    assert parts(f"p = :p AND {text}", {":p": ONE, ":c": TWO}) == {"p": ("EQ", [ONE]), "c": (operator, [TWO])}


def test_between_and_begins_with_keep_their_operands() -> None:
    assert parts("p=:p AnD c BeTwEeN :c aNd :d", {":p": ONE, ":c": ONE, ":d": TWO})["c"] == ("BETWEEN", [ONE, TWO])
    assert parts("begins_with(c, :c) AND p = :p", {":p": ONE, ":c": {"S": "x"}})["c"] == ("BEGINS_WITH", [{"S": "x"}])


def test_parentheses_and_names_are_fine() -> None:
    assert parts("((#c=:c) AND (p=:p))", {":p": ONE, ":c": TWO}, {"#c": "c"}) == {"p": ("EQ", [ONE]), "c": ("EQ", [TWO])}


def test_a_key_may_have_many_attributes() -> None:
    text = " AND ".join(f"k{n} = :v" for n in range(8))
    assert list(parts(text, {":v": ONE})) == [f"k{n}" for n in range(8)]


def test_a_kept_condition_takes_each_request_s_values() -> None:
    assert parts("kept = :v", {":v": {"N": "1.0"}}) == {"kept": ("EQ", [ONE])}
    assert parts("kept = :v", {":v": TWO}) == {"kept": ("EQ", [TWO])}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a > b and size(b) > c or a > c", "Invalid operator used in KeyConditionExpression: OR"),
        ("a in (b, size(c), d)", "Invalid operator used in KeyConditionExpression: IN"),
        ("attribute_exists(a)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
        ("contains(a.d, b)", "Invalid operator used in KeyConditionExpression: contains"),
        ("not a > b", "Invalid operator used in KeyConditionExpression: NOT"),
        ("a <> b", "Invalid operator used in KeyConditionExpression: <>"),
        ("size(b) > a AND a.b > b AND b > c", "KeyConditionExpressions cannot contain nested operations"),
        ("a > size(b.d)", "KeyConditionExpressions cannot contain nested operations"),
        ("b > a.b", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("b between c[1] and d", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("a between b and size(a)", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("begins_with(a, b)", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("b.d > a AND c.d > e.f", "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"),
        ("b[0] > a", "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"),
    ],
)
def test_not_every_condition_is_one_on_a_key(text: str, message: str) -> None:
    assert refused("Query", KeyConditionExpression=text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ":a between size(b) and size(a) and b > :b",
            "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first operand",
        ),
        (
            "begins_with(:a, b) and a > :b",
            "Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its first operand",
        ),
        (":b > :a AND a < :b", "Invalid condition in KeyConditionExpression: No key attribute specified"),
        ("b > :a AND b < :b and c = :a and d = :a", ONE_EACH),
        ("(a > :a and b > :b) and (b > :a and c > :a)", ONE_EACH),
    ],
)
def test_conditions_with_values_must_be_on_one_key_attribute_each(text: str, message: str) -> None:
    assert refused("Query", KeyConditionExpression=text, ExpressionAttributeValues={":a": {"S": "1"}, ":b": {"S": "1"}}) == message


def test_the_rules_of_all_conditions_come_first() -> None:
    assert refused("Query", KeyConditionExpression="dog(c, :c)") == "Invalid KeyConditionExpression: Invalid function name; function: dog"
    assert refused("Query", KeyConditionExpression="attribute_type(a, b)").startswith(
        "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: attribute_type"
    )
    values = {":b": {"N": "2"}, ":a": {"N": "1"}}
    assert refused("Query", KeyConditionExpression="a between :b and :a", ExpressionAttributeValues=values) == (
        "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
    )


def test_unused_placeholders_are_reported_before_what_is_no_key_condition() -> None:
    message = refused("Query", KeyConditionExpression="a <> :a", ExpressionAttributeValues={":a": ONE, ":b": ONE})
    assert message == "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"


NUMBER: Item = {"N": "1"}
TEN: Item = {"S": "y" * 10}


def counted(expression: str, names: dict[str, str] | None = None, **values: Item) -> int:
    """The bytes that an expression counts."""
    request: dict[str, Any] = {"UpdateExpression": expression}
    if names:
        request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = {f":{name}": value for name, value in values.items()}
    prepared = prepare(request, "UpdateItem")
    assert prepared.update is not None
    assert prepared.update.expression_size is not None
    return prepared.update.expression_size.total(prepared.values)


@pytest.mark.parametrize(
    ("expression", "values", "bytes_"),
    [
        ("SET b = :v", {"v": TEN}, 3 + 19 + 1 + 10),
        ("SET b = :v, c = :v", {"v": TEN}, 3 + 2 * (19 + 1 + 10)),
        ("SET b = abcdefghij", {}, 3 + 19 + 1 + 1 + 14 + 10),
        ("SET b = m.a.z", {}, 3 + 19 + 1 + 1 + 3 * 15),
        ("SET b = l[10]", {}, 3 + 19 + 1 + 1 + 15 + 16),
        ("SET m.leaf = :v", {"v": TEN}, 3 + 19 + 1 + 4 + 4 + 10),
        ("SET l[0] = :v", {"v": TEN}, 3 + 19 + 1 + 4 + 1 + 10),
        ("SET l = list_append(l, :v)", {"v": {"L": [TEN]}}, 3 + 19 + 1 + 37 + 16 + 14),
        ("SET n = n + :v", {"v": NUMBER}, 3 + 19 + 1 + 34 + 16 + 2),
        ("SET n = (n - :v)", {"v": NUMBER}, 3 + 19 + 1 + 37 + 16 + 2),
        ("SET c = if_not_exists(c, :v)", {"v": {"M": {"a": TEN}}}, 3 + 19 + 1 + 39 + 16 + 15),
        ("ADD abcdefghij :v", {"v": NUMBER}, 3 + 19 + 10 + 2),
        ("ADD ss :v", {"v": {"SS": ["s" * 500]}}, 3 + 19 + 2 + 500),
        ("REMOVE abcdefghij", {}, 3 + 1 + 10),
        ("REMOVE m.yyyyyyyyyy", {}, 3 + 1 + 1 + 4 + 10),
        ("REMOVE l[10]", {}, 3 + 1 + 1 + 4 + 2),
        ("DELETE ss :v", {"v": {"SS": ["q" * 20]}}, 3 + 1 + 2),
        ("SET b = :v REMOVE r", {"v": TEN}, 3 + 19 + 1 + 10 + 2),
    ],
)
def test_an_expression_counts_what_it_states(expression: str, values: dict[str, Item], bytes_: int) -> None:
    assert counted(expression, **values) == bytes_


def test_a_placeholder_counts_as_the_name_that_it_stands_for() -> None:
    assert counted("SET #twelvechars = :v", {"#twelvechars": "b"}, v=TEN) == counted("SET b = :v", v=TEN)


def update(room: int, expression: str = "SET b = :v", **more: Any) -> dict[str, Any]:
    """An update with a text of so many bytes."""
    values = {":v": {"S": "x" * room}}
    return {"TableName": "Music", "Key": text(pk="a"), "UpdateExpression": expression, "ExpressionAttributeValues": values, **more}


@pytest.mark.parametrize(
    ("expression", "room"),
    [
        ("SET b = :v", MAX_ITEM_SIZE - 23),
        ("SET b = if_not_exists(b, :v)", MAX_ITEM_SIZE - 78),
        ("SET b = if_not_exists(b, :v), c = if_not_exists(c, :v)", (MAX_ITEM_SIZE - 153) // 2),
    ],
)
def test_an_update_may_count_as_many_bytes_as_an_item_has(world: World, expression: str, room: int) -> None:
    world.create("pk")
    world.put(text(pk="a", b="b", c="c"))
    world.call("UpdateItem", **update(room, expression))
    error = world.refusal("UpdateItem", **update(room + 1, expression))
    assert (error.code, error.message) == ("ValidationException", "Item size to update has exceeded the maximum allowed size")


def test_the_count_is_checked_before_the_condition(world: World) -> None:
    world.create("pk")
    error = world.refusal("UpdateItem", **update(MAX_ITEM_SIZE, ConditionExpression="attribute_exists(pk)"))
    assert error.code == "ValidationException"


def test_a_transaction_counts_only_the_item(world: World) -> None:
    world.create("pk")
    world.call("TransactWriteItems", TransactItems=[{"Update": update(MAX_ITEM_SIZE - 4)}])
    assert len(world.items()[0]["b"]["S"]) == MAX_ITEM_SIZE - 4


def test_attribute_updates_count_only_the_item(world: World) -> None:
    world.create("pk")
    value = {"S": "x" * (MAX_ITEM_SIZE - 4)}
    world.call("UpdateItem", TableName="Music", Key=text(pk="a"), AttributeUpdates={"b": {"Action": "PUT", "Value": value}})
    assert world.items()[0]["b"] == value

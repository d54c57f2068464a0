"""What an update is refused for before it meets an item, and in which order."""

from typing import Any

import pytest

from tests.engine.expressions.refusal import update_refused, updated

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
def test_functions_in_the_wrong_place_are_named(text: str, name: str) -> None:
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
def test_functions_count_their_operands(name: str) -> None:
    assert update_refused(f"set a = {name}(c)") == (
        f"Incorrect number of operands for operator or function; operator or function: {name}, number of operands: 1"
    )


@pytest.mark.parametrize("text", ["set a = if_not_exists(:a, c)", "set a = if_not_exists(if_not_exists(b, c), :a)"])
def test_if_not_exists_asks_about_a_path(text: str) -> None:
    assert update_refused(text, {":a": {"S": "a"}}) == "Operator or function requires a document path; operator or function: if_not_exists"


@pytest.mark.parametrize("value", [{"S": "a"}, {"B": "YQ=="}, {"BOOL": True}, {"NULL": True}, {"SS": ["a"]}, {"NS": ["1"]}, {"M": {}}])
def test_functions_look_at_the_types_of_values(value: dict[str, Any]) -> None:
    tag = next(iter(value))
    for operator, text in {"+": "set a = a + :v", "-": "set a = :v - a", "list_append": "set a = list_append(a, :v)"}.items():
        assert update_refused(text, {":v": value}) == (
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
def test_hostile_nesting_gets_dynamodb_s_answer(text: str, expected: str) -> None:
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

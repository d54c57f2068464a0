from typing import Any

import pytest

from .client import PartiQL

NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"
WRONG_OPERAND = "An operand in the update expression has an incorrect data type"
KEY = "WHERE artist = 'a' AND title = 't'"


@pytest.fixture
def song(partiql: PartiQL) -> PartiQL:
    partiql.song(
        "a",
        "t",
        n={"N": "5"},
        s={"S": "abc"},
        tags={"SS": ["x", "y"]},
        l={"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
        m={"M": {"k": {"N": "1"}}},
    )
    return partiql


def after(partiql: PartiQL, actions: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    assert partiql.run(f"UPDATE Songs {actions} {KEY}", *parameters) == {"Items": []}
    stored = partiql.stored("a", "t")
    assert stored is not None
    return stored


def test_an_insert_creates_an_item_once(partiql: PartiQL) -> None:
    text = "INSERT INTO Songs VALUE {'artist': 'a', 'title': 't', 'n': 1}"
    assert partiql.run(text) == {"Items": []}
    assert partiql.stored("a", "t") == {"artist": {"S": "a"}, "title": {"S": "t"}, "n": {"N": "1"}}
    error = partiql.refused(text)
    assert (error.code, error.message) == ("DuplicateItemException", "Duplicate primary key exists in table")


def test_an_insert_may_take_the_whole_item_as_a_parameter(partiql: PartiQL) -> None:
    partiql.run("INSERT INTO Plain VALUE ?", {"M": {"id": {"N": "1"}}})
    assert partiql.items("SELECT * FROM Plain") == [{"id": {"N": "1"}}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO Songs VALUE {'artist': 'a'}", "One or more parameter values were invalid: Missing the key title in the item"),
        (
            "INSERT INTO Songs VALUE {'artist': 'a', 'title': 1}",
            "One or more parameter values were invalid: Type mismatch for key title expected: S actual: N",
        ),
        (
            "INSERT  INTO \"Songs\".\"by-genre\" VALUE {'artist': 'a'}",
            "FROM clause may only contain a single table name in data manipulation statements at 1:14:7",
        ),
        ("INSERT INTO Songs VALUE {'artist': 'a', 'title': 't'} RETURNING ALL OLD *", "RETURNING is not supported in INSERT"),
    ],
)
def test_an_insert_that_makes_no_item_is_refused(partiql: PartiQL, text: str, message: str) -> None:
    assert partiql.message(text) == message


def test_set_and_remove_change_an_item(song: PartiQL) -> None:
    stored = after(song, "SET n = n + 1, x = ? SET m.k = n - -2 SET m.fresh = {'a': [1]} REMOVE s REMOVE l[1]", {"BOOL": True})
    assert stored == {
        "artist": {"S": "a"},
        "title": {"S": "t"},
        "n": {"N": "6"},
        "x": {"BOOL": True},
        "m": {"M": {"k": {"N": "7"}, "fresh": {"M": {"a": {"L": [{"N": "1"}]}}}}},
        "tags": {"SS": ["x", "y"]},
        "l": {"L": [{"N": "0"}, {"N": "2"}]},
    }


def test_functions_make_values(song: PartiQL) -> None:
    stored = after(song, "SET l = list_append(l, [3]), p = LIST_APPEND(['a'], l), q = if_not_exists(q, 1), n = if_not_exists(n, 1)")
    assert [member["N"] for member in stored["l"]["L"]] == ["0", "1", "2", "3"]
    assert stored["p"]["L"][:2] == [{"S": "a"}, {"N": "0"}]
    assert (stored["q"], stored["n"]) == ({"N": "1"}, {"N": "5"})


@pytest.mark.parametrize(
    ("action", "tags"),
    [
        ("SET tags = set_add(tags, <<'x', 'z'>>)", {"SS": ["x", "y", "z"]}),
        ("SET tags = SET_DELETE(tags, <<'x', 'q'>>)", {"SS": ["y"]}),
        ("SET tags = set_delete(tags, <<'x', 'y'>>)", None),
    ],
)
def test_members_are_added_to_sets_and_taken_out(song: PartiQL, action: str, tags: object) -> None:
    assert after(song, action).get("tags") == tags


def test_members_may_be_a_parameter_and_the_set_may_be_new(song: PartiQL) -> None:
    assert after(song, "SET fresh = set_add(fresh, ?)", {"NS": ["1"]})["fresh"] == {"NS": ["1"]}
    assert "none" not in after(song, "SET none = set_delete(none, <<1>>)")


def test_from_may_come_first(song: PartiQL) -> None:
    song.run(f"FROM Songs {KEY} AND n = 5 SET n = 6 REMOVE s")
    stored = song.stored("a", "t")
    assert stored is not None
    assert stored["n"] == {"N": "6"}
    assert "s" not in stored


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("SET t = set_add(tags, <<'x'>>)", "The first argument to SET_ADD must equal the assignment value at 1:22:7"),
        ("SET tags = set_add(<<'x'>>, <<'y'>>)", "The first argument to SET_ADD must equal the assignment value at 1:25:7"),
        ("SET tags = set_delete(tags, 'x')", "The second argument to SET_DELETE must be a value with type SET at 1:36:4"),
        ("SET tags = set_add(tags, other)", "The second argument to SET_ADD must be a value with type SET at 1:33:4"),
        ("SET tags = set_add(tags)", "SET_ADD must have exactly two arguments at 1:25:7"),
        ("SET tags = set_add(tags, <<1>>)", WRONG_OPERAND),
        ("SET s = set_add(s, <<'x'>>)", WRONG_OPERAND),
        ("SET n = s + 1", WRONG_OPERAND),
        ("SET n = 'a' + 1", "Incorrect operand type for operator or function; operator or function: +, operand type: S"),
        ("SET n = n - NULL", "Incorrect operand type for operator or function; operator or function: -, operand type: NULL"),
        (
            "SET l = list_append(l, 1)",
            "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
        ),
        ("SET p = list_append(p, [1])", "The provided expression refers to an attribute that does not exist in the item"),
        ("SET n = nope + 1", "The provided expression refers to an attribute that does not exist in the item"),
        ("SET nope.x = 1", "The document path provided in the update expression is invalid for update"),
        ("SET n = size(s)", "Unrecognized function: size at 1:22:4"),
        (
            "SET n = 1 SET n = 2",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [n], path two: [n]",
        ),
        ("SET title = 'u'", "One or more parameter values were invalid: Cannot update attribute title. This attribute is part of the key"),
        (
            "SET genre = 1",
            "One or more parameter values were invalid: Type mismatch for Index Key genre Expected: S Actual: N IndexName: by-genre",
        ),
    ],
)
def test_an_update_that_cannot_be_done_changes_nothing(song: PartiQL, action: str, message: str) -> None:
    before = song.stored("a", "t")
    assert song.message(f"UPDATE Songs {action} {KEY}") == message
    assert song.stored("a", "t") == before


def test_an_item_may_not_become_too_deep(song: PartiQL) -> None:
    deep: dict[str, Any] = {"S": "x"}
    for _ in range(31):
        deep = {"M": {"a": deep}}
    assert song.message(f"UPDATE Songs SET m.deep = ? {KEY}", deep) == "Nesting Levels have exceeded supported limits"


def test_items_have_a_size_limit(partiql: PartiQL) -> None:
    large = {"S": "x" * 409_600}
    assert partiql.message("INSERT INTO Plain VALUE {'id': 1, 'x': ?}", large) == "Item size has exceeded the maximum allowed size"
    partiql.run("INSERT INTO Plain VALUE {'id': 1}")
    assert partiql.message("UPDATE Plain SET x = ? WHERE id = 1", large) == "Item size to update has exceeded the maximum allowed size"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("", NO_KEY),
        ("WHERE n = 5", NO_KEY),
        ("WHERE artist = 'a'", NO_KEY),
        ("WHERE artist IN ['a'] AND title = 't'", NO_KEY),
        ("WHERE artist = 'a' AND title = 't' OR n = 5", NO_KEY),
        ("WHERE artist = 'a' AND title > 't'", NO_KEY),
        (
            "WHERE artist = 'a' AND title = 't' AND artist = 'b'",
            "Multiple conditions on same key artist. Only single item Update/Insert/Delete are supported",
        ),
        ("WHERE artist = 'a' AND title = 1", "The provided key element does not match the schema"),
    ],
)
@pytest.mark.parametrize("verb", ["UPDATE Songs SET n = 1", "DELETE FROM Songs"])
def test_a_write_must_name_one_item(song: PartiQL, verb: str, where: str, message: str) -> None:
    assert song.message(f"{verb} {where}") == message
    assert song.stored("a", "t") is not None


def test_the_key_may_be_grouped_and_repeated(song: PartiQL) -> None:
    song.run("UPDATE Songs SET n = 6 WHERE (artist = 'a' AND (title = 't')) AND 'a' = artist AND n = 5")
    stored = song.stored("a", "t")
    assert stored is not None
    assert stored["n"] == {"N": "6"}


@pytest.mark.parametrize("verb", ["UPDATE Songs SET n = 1", "DELETE FROM Songs"])
def test_further_conditions_must_hold(song: PartiQL, verb: str) -> None:
    error = song.refused(f"{verb} {KEY} AND n = 6")
    assert (error.code, error.message, error.extra) == ("ConditionalCheckFailedException", "The conditional request failed", {})
    error = song.refused(f"{verb} {KEY} AND n = 6", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert error.extra == {"Item": song.stored("a", "t")}


def test_an_update_of_nothing_fails_and_creates_nothing(partiql: PartiQL) -> None:
    for condition in ("", "AND attribute_not_exists(artist)"):
        assert partiql.refused(f"UPDATE Songs SET n = 1 {KEY} {condition}").code == "ConditionalCheckFailedException"
    assert partiql.stored("a", "t") is None


def test_a_delete_of_nothing_is_done(partiql: PartiQL) -> None:
    assert partiql.run(f"DELETE FROM Songs {KEY} AND n = 1") == {"Items": []}
    assert partiql.run(f"DELETE FROM Songs {KEY} RETURNING ALL OLD *") == {"Items": []}


@pytest.mark.parametrize(
    ("actions", "returning", "items"),
    [
        ("SET n = 6", "MODIFIED OLD", [{"n": {"N": "5"}}]),
        ("SET n = 6", "modified new", [{"n": {"N": "6"}}]),
        ("SET m.k = 2", "MODIFIED NEW", [{"m": {"M": {"k": {"N": "2"}}}}]),
        ("SET l[2] = 9 SET l[0] = 7", "MODIFIED NEW", [{"l": {"L": [{"N": "7"}, {"N": "9"}]}}]),
        ("REMOVE l[1]", "MODIFIED NEW", [{"l": {"L": [{"N": "2"}]}}]),
        ("REMOVE s", "MODIFIED NEW", []),
        ("SET fresh = 1", "MODIFIED OLD", []),
    ],
)
def test_an_update_returns_what_it_modified(song: PartiQL, actions: str, returning: str, items: object) -> None:
    assert song.items(f"UPDATE Songs {actions} {KEY} RETURNING {returning} *") == items


def test_writes_return_whole_items(song: PartiQL) -> None:
    old = song.stored("a", "t")
    assert song.items(f"UPDATE Songs SET n = 6 {KEY} RETURNING ALL OLD *") == [old]
    assert song.items(f"UPDATE Songs SET n = 7 {KEY} RETURNING ALL NEW *") == [song.stored("a", "t")]
    old = song.stored("a", "t")
    assert song.items(f"DELETE FROM Songs {KEY} RETURNING ALL OLD *") == [old]
    assert song.stored("a", "t") is None


def test_a_delete_returns_only_the_old_item(song: PartiQL) -> None:
    message = song.message(f"DELETE FROM Songs {KEY} RETURNING MODIFIED OLD *")
    assert message == "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements."


@pytest.mark.parametrize("text", ["UPDATE Nowhere.x SET n = 1", "DELETE FROM Nowhere.x"])
def test_indexes_cannot_be_written(partiql: PartiQL, text: str) -> None:
    assert partiql.message(text) == "This operation is not supported on an index"


@pytest.mark.parametrize("text", [f"UPDATE Songs s SET n = 1 {KEY}", f"DELETE FROM Songs AS s {KEY}"])
def test_tables_have_no_other_names(song: PartiQL, text: str) -> None:
    assert song.message(text) == "Aliasing is not supported"


def test_writes_consume_capacity_of_the_table_and_its_indexes(partiql: PartiQL) -> None:
    text = "INSERT INTO Songs VALUE {'artist': 'a', 'title': 't', 'genre': 'g', 'label': 'l'}"
    assert partiql.run(text, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"] == {
        "TableName": "Songs",
        "CapacityUnits": 3.0,
        "Table": {"CapacityUnits": 1.0},
        "LocalSecondaryIndexes": {"by-label": {"CapacityUnits": 1.0}},
        "GlobalSecondaryIndexes": {"by-genre": {"CapacityUnits": 1.0}},
    }
    moved = partiql.run(f"UPDATE Songs SET genre = 'h' {KEY}", ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert moved["GlobalSecondaryIndexes"] == {"by-genre": {"CapacityUnits": 2.0}}


def test_writes_reach_the_indexes(partiql: PartiQL) -> None:
    partiql.song("a", "t", genre={"S": "g"})
    partiql.run(f"UPDATE Songs SET genre = 'h' {KEY}")
    assert partiql.items('SELECT * FROM "Songs"."by-genre" WHERE genre = \'g\'') == []
    assert len(partiql.items('SELECT * FROM "Songs"."by-genre" WHERE genre = \'h\'')) == 1


def test_exists_stands_only_in_transactions(partiql: PartiQL) -> None:
    message = partiql.message(f"EXISTS(SELECT * FROM Songs {KEY} AND n = 1)")
    assert message == "EXISTS can only be used in ExecuteTransaction write requests."

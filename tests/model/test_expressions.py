from datetime import UTC, datetime
from typing import Any

import pytest

from gateleg.model import TTL, Attr, Condition, Entity, Key, Record, States, Table, field, state
from gateleg.model.errors import ConditionTruth, ExpressionError, ExpressionValue, OverlappingPaths
from gateleg.model.expressions import Placeholders, UpdateAction, all_of, render_actions


class Phase(States):
    NEW = state("new", to=["busy"])
    BUSY = state("busy", to=["done", "new"])
    DONE = state("done", to=["new"])


class Line(Record, case="camel"):
    log_level: Attr[str]
    hits: Attr[int] = field(0)


class Log(Record):
    lines: Attr[list[Line]] = field(factory=list)


class Task(Entity, table=Table("tasks", hash="id"), case="camel"):
    id: Attr[str]
    phase: Attr[Phase] = field(Phase.NEW)
    tries: Attr[int] = field(0, ge=0, le=9)
    limit: Attr[int] = field(3)
    owner: Attr[str | None] = field(None)
    tags: Attr[set[str]] = field(factory=set)
    steps: Attr[list[str]] = field(factory=list)
    config: Attr[dict[str, Any]] = field(factory=dict)
    counts: Attr[dict[str, int]] = field(factory=dict)
    log: Attr[Log] = field(factory=lambda: Log())
    due_at: Attr[datetime | None] = field(None)
    expires: Attr[TTL | None] = field(None)
    odd: Attr[str] = field("", name="a-b.c")

    key = Key("{id}")


def text_of(condition: Condition) -> tuple[str, Any]:
    out = Placeholders()
    return condition.render(out), out.values


@pytest.mark.parametrize(
    ("condition", "text", "values"),
    [
        (Task.tries == 3, "#tries = :0", [{"N": "3"}]),
        (Task.tries != 3, "#tries <> :0", [{"N": "3"}]),
        (Task.tries < 3, "#tries < :0", [{"N": "3"}]),
        (Task.tries <= 3, "#tries <= :0", [{"N": "3"}]),
        (Task.tries > 3, "#tries > :0", [{"N": "3"}]),
        (Task.tries >= -1, "#tries >= :0", [{"N": "-1"}]),
        (Task.tries < Task.limit, "#tries < #limit", []),
        (Task.tries.between(1, 2), "#tries BETWEEN :0 AND :1", [{"N": "1"}, {"N": "2"}]),
        (Task.phase.is_in([Phase.NEW, Phase.DONE]), "#phase IN (:0, :1)", [{"S": "new"}, {"S": "done"}]),
        (Task.owner == None, "attribute_not_exists(#owner)", []),  # noqa: E711
        (Task.owner != None, "attribute_exists(#owner)", []),  # noqa: E711
        (Task.owner.exists(), "attribute_exists(#owner)", []),
        (Task.owner.missing(), "attribute_not_exists(#owner)", []),
        (Task.owner.begins_with("a"), "begins_with(#owner, :0)", [{"S": "a"}]),
        (Task.owner.contains("a"), "contains(#owner, :0)", [{"S": "a"}]),
        (Task.tags.contains("a"), "contains(#tags, :0)", [{"S": "a"}]),
        (Task.steps.contains("a"), "contains(#steps, :0)", [{"S": "a"}]),
        (Task.owner.is_type("S"), "attribute_type(#owner, :0)", [{"S": "S"}]),
        (Task.steps.size() > 2, "size(#steps) > :0", [{"N": "2"}]),
        (Task.steps.size().between(1, 2), "size(#steps) BETWEEN :0 AND :1", [{"N": "1"}, {"N": "2"}]),
        (Task.due_at > datetime(2026, 1, 1, tzinfo=UTC), "#dueAt > :0", [{"S": "2026-01-01T00:00:00.000000Z"}]),
        (Task.expires < datetime(2026, 1, 1, tzinfo=UTC), "#expires < :0", [{"N": "1767225600"}]),
        (Task.odd == "x", "#_0 = :0", [{"S": "x"}]),
        (Task.config["a"]["b"] == 1, "#config.#a.#b = :0", [{"N": "1"}]),
        (Task.counts["a"] == 1, "#counts.#a = :0", [{"N": "1"}]),
        (Task.steps[0] == "x", "#steps[0] = :0", [{"S": "x"}]),
        (Task.log[Log.lines][2][Line.log_level] == "INFO", "#log.#lines[2].#logLevel = :0", [{"S": "INFO"}]),
        (Task.log["lines"][0]["hits"] > 1, "#log.#lines[0].#hits > :0", [{"N": "1"}]),
        ((Task.tries == 1) & (Task.limit == 2) & (Task.owner == "x"), "#tries = :0 AND #limit = :1 AND #owner = :2", None),
        ((Task.tries == 1) | (Task.limit == 2), "#tries = :0 OR #limit = :1", None),
        ((Task.tries == 1) & ((Task.limit == 2) | (Task.limit == 3)), "#tries = :0 AND (#limit = :1 OR #limit = :2)", None),
        (~(Task.tries == 1), "NOT (#tries = :0)", None),
        (~~(Task.tries == 1), "#tries = :0", None),
    ],
)
def test_conditions_compile(condition: Condition, text: str, values: list[Any] | None) -> None:
    rendered, found = text_of(condition)
    assert rendered == text
    assert values is None or list(found.values()) == values


def test_a_text_is_accepted_for_an_enumeration() -> None:
    given: Any = "new"
    assert text_of(Task.phase == given) == ("#phase = :0", {":0": {"S": "new"}})


def test_equal_expressions_compile_to_equal_text() -> None:
    assert text_of((Task.tries == 1) & (Task.owner == "a")) == text_of((Task.tries == 1) & (Task.owner == "a"))


def test_a_compared_value_of_another_type_is_refused() -> None:
    with pytest.raises(ExpressionValue, match=r"Task\.tries"):
        _ = Task.tries == "many"


def test_a_condition_has_no_truth_value() -> None:
    with pytest.raises(ConditionTruth, match="&"):
        bool(Task.tries == 3)


def test_conditions_chain_over_none() -> None:
    condition = Task.tries == 1
    assert (condition & None) is condition
    assert (None & condition) is condition
    assert all_of(None, None) is None
    assert all_of(None, condition) is condition


def test_a_condition_knows_the_attributes_it_mentions() -> None:
    assert ((Task.tries < Task.limit) | ~(Task.log["lines"].size() > 1)).attributes() == {"tries", "limit", "log"}


@pytest.mark.parametrize("count", [0, 101])
def test_in_takes_one_to_a_hundred_values(count: int) -> None:
    with pytest.raises(ExpressionError):
        Task.tries.is_in(range(count))


def test_two_names_that_would_share_a_placeholder_do_not() -> None:
    out = Placeholders()
    assert out.name("x.y") == "#_0"
    assert out.name("_0") == "#_0_"
    assert out.names == {"#_0": "x.y", "#_0_": "_0"}


def update_of(*actions: UpdateAction) -> tuple[str, list[Any]]:
    out = Placeholders()
    return render_actions(actions, out), list(out.values.values())


@pytest.mark.parametrize(
    ("action", "text", "values"),
    [
        (Task.owner.set("a"), "SET #owner = :0", [{"S": "a"}]),
        (Task.owner.set(None), "REMOVE #owner", []),
        (Task.owner.remove(), "REMOVE #owner", []),
        (Task.tries.set(Task.tries + 1), "SET #tries = #tries + :0", [{"N": "1"}]),
        (Task.tries.set(Task.limit - Task.tries), "SET #tries = #limit - #tries", []),
        (Task.tries.set(Task.limit), "SET #tries = #limit", []),
        (Task.tries.set(Task.tries.if_not_exists(0) + 1), "SET #tries = if_not_exists(#tries, :0) + :1", [{"N": "0"}, {"N": "1"}]),
        (Task.tries.add(-1), "ADD #tries :0", [{"N": "-1"}]),
        (Task.tags.add({"a"}), "ADD #tags :0", [{"SS": ["a"]}]),
        (Task.tags.delete({"a"}), "DELETE #tags :0", [{"SS": ["a"]}]),
        (
            Task.steps.append("a", "b"),
            "SET #steps = list_append(if_not_exists(#steps, :0), :1)",
            [{"L": []}, {"L": [{"S": "a"}, {"S": "b"}]}],
        ),
        (Task.steps.prepend("a"), "SET #steps = list_append(:0, if_not_exists(#steps, :1))", [{"L": [{"S": "a"}]}, {"L": []}]),
        (Task.steps[1].remove(), "REMOVE #steps[1]", []),
        (Task.log[Log.lines][0][Line.hits].add(2), "ADD #log.#lines[0].#hits :0", [{"N": "2"}]),
        (Task.config["a"].set([1]), "SET #config.#a = :0", [{"L": [{"N": "1"}]}]),
        (Task.phase.to(Phase.BUSY), "SET #phase = :0", [{"S": "busy"}]),
        (Task.phase.force(Phase.DONE), "SET #phase = :0", [{"S": "done"}]),
    ],
)
def test_actions_compile(action: UpdateAction, text: str, values: list[Any]) -> None:
    assert update_of(action) == (text, values)


def test_clauses_are_grouped_by_word() -> None:
    text, _ = update_of(Task.tries.add(1), Task.owner.set("a"), Task.limit.set(1), Task.due_at.remove(), Task.tags.delete({"x"}))
    assert text == "SET #owner = :1, #limit = :2 REMOVE #dueAt ADD #tries :0 DELETE #tags :3"


def test_a_written_value_must_satisfy_the_constraints() -> None:
    with pytest.raises(ExpressionValue, match="less than or equal to 9"):
        Task.tries.set(10)


def test_none_is_refused_for_an_attribute_that_is_not_optional() -> None:
    with pytest.raises(ExpressionValue):
        Task.tries.set(None)  # type: ignore[arg-type]  # pyright: ignore


@pytest.mark.parametrize(
    "actions",
    [
        [Task.tries.set(1), Task.tries.add(1)],
        [Task.config.set({}), Task.config["a"].set(1)],
        [Task.config["a"]["b"].set(1), Task.config["a"].remove()],
    ],
)
def test_a_path_is_written_once(actions: list[UpdateAction]) -> None:
    with pytest.raises(OverlappingPaths):
        update_of(*actions)


def test_an_update_without_actions_is_refused() -> None:
    with pytest.raises(ExpressionError):
        update_of()


def test_a_sum_of_sums_is_refused() -> None:
    with pytest.raises(ExpressionError, match="two operands"):
        update_of(Task.tries.set(Task.tries.if_not_exists(0) + (Task.limit + 1)))


def test_only_states_move() -> None:
    with pytest.raises(ExpressionError, match=r"Use \.set"):
        Task.tries.to(1)  # pyright: ignore


def test_an_unknown_attribute_is_an_error_at_run_time_too() -> None:
    with pytest.raises(AttributeError):
        _ = Task.triez  # type: ignore[attr-defined]  # pyright: ignore
    with pytest.raises(AttributeError):
        Task.log["lins"]


def test_the_initial_state_without_predecessors_cannot_be_moved_to() -> None:
    class OneWay(States):
        START = state("start", to=["end"])
        END = state("end")

    class Trip(Entity, table=Table("trips", hash="id")):
        id: Attr[str]
        leg: Attr[OneWay] = field(OneWay.START)

        key = Key("{id}")

    with pytest.raises(ExpressionError, match="initial state"):
        Trip.leg.to(OneWay.START)


def test_subclasses_have_separate_expressions() -> None:
    class Base(Entity):
        id: Attr[str]
        size: Attr[int] = field(1)

    class Child(Base, table=Table("children", hash="id"), case="pascal"):
        extra_part: Attr[str] = field("x")

        key = Key("{id}")

    assert Base.size.path == ("size",)
    assert Child.size.path == ("Size",)
    assert Child.extra_part.path == ("ExtraPart",)
    assert Child(id="1").size == 1


def test_a_reversed_range_is_refused() -> None:
    with pytest.raises(ExpressionValue, match="range from 3 to 2 is empty"):
        Task.tries.between(3, 2)

"""A cached plan equals the plan that would be computed."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.model import (
    GSI,
    Attr,
    Condition,
    Entity,
    Key,
    KeyPart,
    ModelError,
    Record,
    States,
    Table,
    Version,
    field,
    spec_of,
    stamp,
    state,
)
from gateleg.model.expressions import Operand, Placeholders
from gateleg.model.planning import plan_update
from gateleg.plain import is_plain

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


class Phase(States):
    NEW = state("new", to=["busy", "lost"])
    BUSY = state("busy", to=["new", "done"])
    LOST = state("lost", to=["new"])
    DONE = state("done")


class Place(KeyPart, template="{country}#{city}"):
    country: str
    city: str


class Log(Record):
    lines: Attr[list[str]] = field(factory=list)


indexes = [
    GSI("by-phase", hash="G1", range="G1S"),
    GSI("open", hash="G2", range="G2S"),
    GSI("by-queue", hash="queue", range="G3"),
    GSI("spread", hash="G4", range="created"),
    GSI("lately", hash="G5", range="G5S"),
    GSI("by-place", hash="place", range="city"),
    GSI("by-title", hash="title"),
]


class Task(Entity, table=Table("Tasks", hash="PK", range="SK", indexes=indexes)):
    owner: Attr[str]
    number: Attr[int]
    phase: Attr[Phase] = field(Phase.NEW)
    queue: Attr[str] = field("q")
    rank: Attr[int] = field(0)
    title: Attr[str | None] = field(None)
    note: Attr[str | None] = field(None)
    place: Attr[Place | None] = field(None)
    tags: Attr[set[str]] = field(factory=set)
    log: Attr[Log] = field(factory=lambda: Log())
    created: Attr[datetime] = stamp(on="create")
    changed: Attr[datetime] = stamp(on="write")

    key = Key("O#{owner}", "T#{number:03d}")
    phase_key = Key("{phase}", "{created}#{rank:03d}", index="by-phase")
    open_key = Key("OPEN#{owner}", "{title}#{rank:03d}", index="open", when={"phase": ["new", "busy"]})
    queue_key = Key("{queue}", "{rank:03d}#{number:03d}", index="by-queue")
    spread_key = Key("P#{phase}", index="spread", shards=4)
    lately_key = Key("Q#{queue}", "{changed}", index="lately")


class Guarded(Task, table=Table("GuardedTasks", hash="PK", range="SK", indexes=indexes)):
    version: Attr[Version] = field(0)


words = st.sampled_from(["a", "b", ""])
ACTIONS: list[st.SearchStrategy[Callable[[type[Task]], Any]]] = [
    st.sampled_from(list(Phase)).map(lambda phase: lambda kind: kind.phase.to(phase)),
    st.sampled_from(list(Phase)).map(lambda phase: lambda kind: kind.phase.force(phase)),
    words.map(lambda value: lambda kind: kind.queue.set(value)),
    st.integers(0, 1001).map(lambda value: lambda kind: kind.rank.set(value)),
    st.just(lambda kind: kind.rank.set(kind.rank + 1)),
    st.integers(0, 3).map(lambda value: lambda kind: kind.rank.set(kind.rank.if_not_exists(value) - 1)),
    st.integers(0, 3).map(lambda value: lambda kind: kind.rank.add(value)),
    (st.none() | words).map(lambda value: lambda kind: kind.title.set(value)),
    (st.none() | words).map(lambda value: lambda kind: kind.note.set(value)),
    st.just(lambda kind: kind.note.set(kind.title)),
    st.just(lambda kind: kind.queue.remove()),
    st.sampled_from([None, Place(country="de", city="ulm"), Place(country="de", city="bonn")]).map(
        lambda value: lambda kind: kind.place.set(value)
    ),
    st.sets(words).map(lambda value: lambda kind: kind.tags.set(value)),
    st.sets(words, min_size=1).map(lambda value: lambda kind: kind.tags.delete(value)),
    st.lists(words, max_size=2).map(lambda values: lambda kind: kind.log[Log.lines].append(*values)),
    words.map(lambda value: lambda kind: kind.log[Log.lines][0].set(value)),
    st.just(lambda kind: kind.changed.set(NOW + timedelta(days=1))),
    st.just(lambda kind: kind.number.set(5)),
]
CONDITIONS: list[st.SearchStrategy[Callable[[type[Task]], Condition]]] = [
    words.map(lambda value: lambda kind: kind.note == value),
    st.just(lambda kind: kind.note == None),  # noqa: E711
    st.lists(words, min_size=1, max_size=3).map(lambda values: lambda kind: kind.queue.is_in(values)),
    st.integers(0, 3).map(lambda value: lambda kind: kind.rank.between(value, 5) | ~(kind.rank > value)),
    st.integers(0, 3).map(lambda value: lambda kind: (kind.note.size() < value) & kind.title.begins_with("a")),
    words.map(lambda value: lambda kind: kind.tags.contains(value) | kind.log[Log.lines].exists()),
]


@st.composite
def tasks(draw: st.DrawFn, kind: type[Task]) -> Any:
    values: dict[str, Any] = {
        "owner": draw(st.sampled_from(["o", "p"])),
        "number": draw(st.integers(1, 2)),
        "phase": draw(st.sampled_from(list(Phase))),
        "title": draw(st.sampled_from([None, "a", "b"])),
        "note": draw(st.sampled_from([None, "a"])),
        "rank": draw(st.integers(0, 3)),
        "place": draw(st.sampled_from([None, Place(country="de", city="ulm")])),
        "created": NOW - timedelta(days=draw(st.integers(0, 3))),
        "changed": NOW,
    }
    if kind is Guarded:
        values["version"] = draw(st.integers(0, 2))
    return kind(**values)


@st.composite
def requests(draw: st.DrawFn, kind: type[Task]) -> Callable[[], Any]:
    """A function that plans a request each time that it is called."""
    task: Any = draw(tasks(kind))
    actions = draw(st.lists(st.one_of(ACTIONS), min_size=0, max_size=3))
    condition = draw(st.none() | st.one_of(CONDITIONS))
    names = draw(st.sets(st.sampled_from(["phase", "queue", "rank", "title", "note", "created", "changed", "place"])))
    by_reference = draw(st.booleans())
    options: dict[str, Any] = {
        "now": NOW + timedelta(seconds=draw(st.integers(0, 2))),
        "mode": draw(st.sampled_from(["patch", "patch", "patch", "upsert"])),
        "check_version": draw(st.booleans()),
    }

    def plan() -> Any:
        try:
            made = [make(kind) for make in actions]
            asked = None if condition is None else condition(kind)
            if by_reference:
                known = {name: getattr(task, name) for name in names}
                return plan_update(kind.key(owner=task.owner, number=task.number), made, known=known, condition=asked, **options)
            return plan_update(task, made, condition=asked, **options)
        except ModelError as error:
            return type(error), str(error)

    return plan


@pytest.mark.parametrize("kind", [Task, Guarded])
@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_a_cached_plan_equals_a_new_plan(kind: type[Task], data: st.DataObject) -> None:
    plans = data.draw(st.lists(requests(kind), min_size=1, max_size=12))
    spec = spec_of(kind)
    kept = [plan() for plan in [*plans, *plans]]
    for found, plan in zip(kept, [*plans, *plans], strict=True):
        spec.plans.clear()
        assert found == plan()


def test_an_update_of_the_same_kind_is_planned_once() -> None:
    spec = spec_of(Guarded)
    spec.plans.clear()
    for number in (1, 2):
        plan_update(Guarded(owner="o", number=number, version=number), [Guarded.queue.set(f"q{number}")], now=NOW)
    assert len(spec.plans) == (0 if is_plain("plans") else 1)


def test_plans_do_not_share_mutable_values() -> None:
    task = Task(owner="o", number=1)
    first = plan_update(task, [Task.queue.set("a")], now=NOW)
    for part in first.parameters.values():
        if isinstance(part, dict):
            part.clear()
    second = plan_update(task, [Task.queue.set("a")], now=NOW)
    assert second.parameters["ExpressionAttributeNames"]
    assert second.parameters["Key"]


def test_a_custom_operand_is_not_cached() -> None:
    class Elsewhere(Operand[str]):
        def render(self, out: Placeholders) -> str:
            return out.name("elsewhere")

    spec = spec_of(Task)
    spec.plans.clear()
    write = plan_update(Task(owner="o", number=1), [Task.note.set(Elsewhere())], now=NOW)
    assert "#note = #elsewhere" in write.parameters["UpdateExpression"]
    assert not spec.plans

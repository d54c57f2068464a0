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
    Counter,
    Entity,
    Key,
    KeyPart,
    ModelError,
    Record,
    States,
    Table,
    Unique,
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
    effort: Attr[int] = field(0, ge=-5, le=5)
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


counting = Table("CountedTasks", hash="PK", range="SK", indexes=indexes)


class Team(Entity, table=counting):
    owner: Attr[str]
    tasks: Attr[int] = field(0)
    open: Attr[int] = field(0)
    queued: Attr[int] = field(0)
    key = Key("O#{owner}", "TEAM")


class Town(Entity, table=counting):
    city: Attr[str]
    tasks: Attr[int] = field(0, le=3)
    key = Key("C#{city}", "TOWN")


class Counted(Task, table=counting):
    every = Counter(Team.tasks)
    every_open = Counter(Team.open, when={"phase": ["new", "busy"]})
    every_queued = Counter(Team.queued, when={"queue": ["a"], "phase": ["busy"]})
    once = Unique("title", "queue")


class GuardedCounted(Counted, table=Table("GuardedCounted", hash="PK", range="SK", indexes=indexes)):
    version: Attr[Version] = field(0)


class Moving(Entity, table=counting):
    owner: Attr[str]
    number: Attr[int]
    city: Attr[str] = field("ulm")
    phase: Attr[Phase] = field(Phase.NEW)
    key = Key("O#{owner}", "M#{number:03d}")
    in_town = Counter(Town.tasks, when={"phase": ["new", "busy"]})
    by_city = Unique("city")


words = st.sampled_from(["a", "b", ""])
ACTIONS: list[st.SearchStrategy[Callable[[type[Task]], Any]]] = [
    st.sampled_from(list(Phase)).map(lambda phase: lambda kind: kind.phase.to(phase)),
    st.sampled_from(list(Phase)).map(lambda phase: lambda kind: kind.phase.force(phase)),
    words.map(lambda value: lambda kind: kind.queue.set(value)),
    st.integers(0, 1001).map(lambda value: lambda kind: kind.rank.set(value)),
    st.just(lambda kind: kind.rank.set(kind.rank + 1)),
    st.integers(0, 3).map(lambda value: lambda kind: kind.rank.set(kind.rank.if_not_exists(value) - 1)),
    st.integers(0, 3).map(lambda value: lambda kind: kind.rank.add(value)),
    st.integers(-3, 3).map(lambda value: lambda kind: kind.effort.add(value)),
    st.integers(-3, 3).map(lambda value: lambda kind: kind.effort.set(kind.effort + value)),
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
    if issubclass(kind, Guarded | GuardedCounted):
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


@pytest.mark.parametrize("kind", [Task, Guarded, Counted, GuardedCounted])
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


@settings(deadline=None, max_examples=60)
@given(changes=st.lists(st.tuples(st.sampled_from(["ulm", "bonn"]), st.sampled_from(list(Phase)), st.booleans()), min_size=2, max_size=8))
def test_a_cached_plan_moves_an_item_from_parent_to_parent(changes: list[tuple[str, Phase, bool]]) -> None:
    spec, task = spec_of(Moving), Moving(owner="o", number=1)
    for city, phase, whole in [*changes, *changes]:
        target: Any = task if whole else task.key
        known: dict[str, Any] = {} if whole else {"city": task.city, "phase": task.phase}
        kept = plan_update(target, [Moving.city.set(city), Moving.phase.force(phase)], now=NOW, known=known)
        plans = dict(spec.plans)
        spec.plans.clear()
        assert kept == plan_update(target, [Moving.city.set(city), Moving.phase.force(phase)], now=NOW, known=known)
        spec.plans.update(plans)
        task = Moving(owner="o", number=1, city=city, phase=phase)


@pytest.mark.skipif(is_plain("plans"), reason="plans are not cached")
@pytest.mark.parametrize(
    "action",
    [
        lambda value: Guarded.phase.to(Phase.BUSY),
        lambda value: Guarded.phase.force(Phase.LOST),
        lambda value: Guarded.effort.set(Guarded.effort.if_not_exists(value) - 1),
        lambda value: Guarded.effort.add(value),
        lambda value: Guarded.tags.delete({str(value)}),
        lambda value: Guarded.log[Log.lines].append(str(value)),
        lambda value: Guarded.log[Log.lines][0].set(str(value)),
        lambda value: Guarded.note.remove(),
    ],
)
def test_the_plan_of_each_kind_of_action_is_cached(action: Callable[[int], Any]) -> None:
    spec = spec_of(Guarded)
    spec.plans.clear()
    for number in (1, 2):
        plan_update(Guarded(owner="o", number=number, version=1), [action(number)], now=NOW, condition=Guarded.queue == str(number))
        assert len(spec.plans) == 1


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

"""Whatever is deployed and whatever is declared: the steps of the plan are all accepted, and then nothing is left to do."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.migrate import Capacity, TableSettings, TableShape, inspect_table, plan_table
from gateleg.migrate.execution import carry_out
from gateleg.migrate.shapes import IndexShape, KeyElement
from gateleg.store import Store
from gateleg.store.transports.embedded import open_embedded
from tests.migrate.watchers import Recorder

_TYPES = st.sampled_from(["S", "N", "B"])
_ATTRIBUTES = ("a", "b", "c")


@st.composite
def _index(draw: st.DrawFn, name: str, types: dict[str, str], local: bool) -> IndexShape:
    names = ["pk", draw(st.sampled_from(_ATTRIBUTES))] if local else draw(st.permutations(("pk", *_ATTRIBUTES)))[: draw(st.integers(1, 2))]
    keys = tuple(KeyElement(attribute, role, types[attribute]) for attribute, role in zip(names, ("HASH", "RANGE"), strict=False))
    projection = draw(st.sampled_from(["ALL", "KEYS_ONLY", "INCLUDE"]))
    include = draw(st.frozensets(st.sampled_from(["x", "y", "z"]), min_size=1)) if projection == "INCLUDE" else frozenset[str]()
    return IndexShape(name, keys, projection, include)


@st.composite
def shapes(draw: st.DrawFn) -> TableShape:
    types = {"pk": draw(_TYPES), "sk": "S"} | {name: draw(_TYPES) for name in _ATTRIBUTES}
    indexes = {name: draw(_index(name, types, False)) for name in draw(st.sets(st.sampled_from(["one", "two", "six"])))}
    locals_ = {name: draw(_index(name, types, True)) for name in draw(st.sets(st.sampled_from(["l-1"]), max_size=1))}
    keys = (KeyElement("pk", "HASH", types["pk"]), KeyElement("sk", "RANGE", "S"))
    stream = draw(st.sampled_from([None, "KEYS_ONLY", "NEW_IMAGE"]))
    return TableShape("things", keys, indexes, locals_, stream, draw(st.sampled_from([None, "x", "y"])))


_SETTINGS = st.builds(
    TableSettings,
    billing=st.one_of(st.sampled_from(["on-demand", "keep"]), st.builds(Capacity, st.integers(1, 3), st.integers(1, 3))),
    protected=st.sampled_from([None, True, False]),
    recoverable=st.sampled_from([None, True, False]),
    tags=st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["1", "2"])),
)


def _converge(store: Store, wanted: TableShape, rules: TableSettings) -> None:
    watcher: Any = Recorder()
    for _ in range(20):
        plan = plan_table(wanted, store.drive(inspect_table(wanted.name, rules)), rules, replace=True)
        if not plan.steps:
            assert plan.done
            return
        store.drive(carry_out(plan.steps[0], "now", watcher))
    pytest.fail("There is always one more step.")


@settings(max_examples=40, deadline=None)
@given(first=shapes(), second=shapes(), before=_SETTINGS, after=_SETTINGS)
def test_any_table_can_be_made_any_other(first: TableShape, second: TableShape, before: TableSettings, after: TableSettings) -> None:
    with Store(open_embedded(), sleep=lambda seconds: None) as store:
        _converge(store, first, before)
        _converge(store, second, after)


@settings(max_examples=40, deadline=None)
@given(first=shapes(), second=shapes(), rules=_SETTINGS)
def test_a_plan_of_several_steps_can_be_carried_out_without_looking_again(
    first: TableShape, second: TableShape, rules: TableSettings
) -> None:
    with Store(open_embedded(), sleep=lambda seconds: None) as store:
        _converge(store, first, TableSettings())
        plan = plan_table(second, store.drive(inspect_table("things", rules)), rules, replace=True)
        watcher: Any = Recorder()
        for step in plan.steps:
            store.drive(carry_out(step, "now", watcher))
        assert plan_table(second, store.drive(inspect_table("things", rules)), rules).done

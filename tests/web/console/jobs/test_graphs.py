import re
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs import Job
from gateleg.web.console.jobs.trees import columns_of, graph_svg, placed
from tests.web.console.jobs.samples import job, number


def graph(edges: dict[int, list[int]]) -> dict[UUID, Job]:
    return {number(at): job(job_id=number(at), dependencies=[number(other) for other in others]) for at, others in edges.items()}


def test_a_job_stands_right_of_all_that_it_waits_for() -> None:
    columns = columns_of(graph({1: [], 2: [1], 3: [1, 2], 4: []}))
    assert columns == {number(1): 0, number(2): 1, number(3): 2, number(4): 0}


@given(st.lists(st.lists(st.integers(min_value=0, max_value=8), max_size=3), min_size=1, max_size=9))
def test_no_two_jobs_stand_in_one_place_also_when_they_wait_for_each_other(edges: list[list[int]]) -> None:
    nodes = placed(graph(dict(enumerate(edges))))
    assert len({(node.column, node.row) for node in nodes}) == len(nodes) == len(edges)


def test_every_dependency_is_an_arrow() -> None:
    svg = graph_svg(graph({1: [], 2: [1], 3: [1, 2]}).values(), number(3))
    assert len(re.findall('class="tip"', svg)) == 3
    assert svg.count(" here") == 1


def test_a_dependency_that_is_not_there_any_more_is_left_out() -> None:
    assert 'class="tip"' not in graph_svg(graph({1: [99]}).values(), number(1))


def test_what_is_still_waited_for_is_a_broken_line() -> None:
    waiting = job(job_id=number(2), dependencies=[number(1)], waiting_for={str(number(1))})
    assert 'class="edge open"' in graph_svg([job(), waiting], number(2))


def test_markup_in_names_stays_text() -> None:
    assert "<b>" not in graph_svg([job(job_stage="<b>bold</b>")], number(1))


def test_jobs_stand_where_what_they_wait_for_stands() -> None:
    rows = {node.job_id: node.row for node in placed(graph({1: [], 2: [], 3: [], 11: [3], 12: [1], 13: [2]}))}
    assert [rows[number(at)] for at in (12, 13, 11)] == [rows[number(at)] for at in (1, 2, 3)]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs import JobStatus
from gateleg.web.console.jobs.list_page import STATUS_WORDS, Filters

texts = st.none() | st.text(min_size=1).filter(lambda text: text == text.strip())
filters = st.builds(
    Filters,
    status=st.none() | st.sampled_from(list(JobStatus)),
    type=texts,
    queue=texts,
    subject=texts,
    worker=texts,
    tag=texts,
    cursor=texts,
)


@given(filters)
def test_an_address_holds_all_of_the_filters(wanted: Filters) -> None:
    assert Filters.read({name: value for name, value in wanted.state().items() if value}) == wanted


def test_every_state_has_a_word() -> None:
    assert set(STATUS_WORDS.values()) == set(JobStatus)


@pytest.mark.parametrize("query", [{"status": "sleeping"}, {"status": ""}, {"colour": "red"}, {"type": "  "}])
def test_what_there_is_not_is_left_out(query: dict[str, str]) -> None:
    assert Filters.read(query) == Filters()


def test_another_filter_begins_at_the_first_page() -> None:
    assert Filters(queue="media", cursor="abc").address(status=JobStatus.FAILED) == "/jobs?queue=media&status=failed"


def test_a_cursor_alone_is_no_filter() -> None:
    assert not Filters(cursor="abc").any
    assert Filters(tag="night").any


def test_the_queues_own_jobs_are_asked_for_with_1() -> None:
    assert not Filters().arguments()["internal"]
    assert Filters.read({"internal": "1"}).arguments()["internal"]
    assert Filters(queue="media").address(internal="1") == "/jobs?internal=1&queue=media"
    assert Filters.read({"internal": "yes"}) == Filters()

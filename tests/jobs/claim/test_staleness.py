from gateleg.jobs.leases import LeaseObserver


def test_the_age_of_a_value_is_counted_from_when_it_was_seen_first() -> None:
    seen: LeaseObserver[str] = LeaseObserver()
    assert seen.observe({"a": 1}, 100.0) == {"a": 0.0}
    assert seen.observe({"a": 1, "b": 1}, 110.0) == {"a": 10.0, "b": 0.0}
    assert seen.observe({"a": 2, "b": 1}, 130.0) == {"a": 0.0, "b": 20.0}


def test_what_was_gone_is_new_when_it_comes_back() -> None:
    seen: LeaseObserver[str] = LeaseObserver()
    seen.observe({"a": 1}, 0.0)
    seen.observe({}, 10.0)
    assert seen.observe({"a": 1}, 20.0) == {"a": 0.0}

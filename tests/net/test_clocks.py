from gateleg.net import Deadline, ServiceClock


def test_a_deadline_comes_nearer() -> None:
    now = 10.0
    deadline = Deadline.after(5.0, lambda: now)
    assert deadline.left() == 5.0
    now = 16.0
    assert deadline.left() == -1.0


def test_the_clock_takes_over_the_time_of_the_service() -> None:
    clock = ServiceClock(lambda: 1_000_000.0)
    assert clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.now() == 1_432_000.0


def test_a_clock_that_is_nearly_right_is_not_corrected() -> None:
    clock = ServiceClock(lambda: 1_000_000.0)
    assert not clock.repair("Mon, 12 Jan 1970 13:47:10 GMT")
    assert clock.now() == 1_000_000.0


def test_after_another_thread_corrected_the_clock_a_retry_is_allowed() -> None:
    clock = ServiceClock(lambda: 1_000_000.0)
    clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.repair("Sat, 17 Jan 1970 13:46:41 GMT")


def test_the_correction_is_removed_when_the_machines_clock_is_corrected() -> None:
    time = 1_000_000.0
    clock = ServiceClock(lambda: time)
    clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    time = 1_432_000.0
    assert clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.now() == 1_432_000.0


def test_a_missing_or_invalid_date_does_not_correct_the_clock() -> None:
    assert not ServiceClock().repair(None)
    assert not ServiceClock().repair("yesterday")

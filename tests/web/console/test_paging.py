from gateleg.web.console.lists import address


def test_an_address_holds_what_is_set() -> None:
    assert address("/jobs", {"status": "failed", "queue": None, "type": ""}) == "/jobs?status=failed"


def test_one_state_has_one_address() -> None:
    assert address("/jobs", {"b": "2", "a": "1"}) == address("/jobs", {"a": "1", "b": "2"}) == "/jobs?a=1&b=2"


def test_values_are_escaped() -> None:
    assert address("/jobs", {"subject": "a&b=c d/é"}) == "/jobs?subject=a%26b%3Dc+d%2F%C3%A9"


def test_nothing_set_is_the_path_alone() -> None:
    assert address("/jobs", {}) == "/jobs"

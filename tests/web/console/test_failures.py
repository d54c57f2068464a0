import pytest

from gateleg.host.principal import Role
from gateleg.jobs import WrongState
from gateleg.store import AlreadyExists
from gateleg.web.console.failures import describe_error, refusal


def test_our_errors_say_what_happened_and_what_to_do() -> None:
    words = describe_error(WrongState("The job is done."))
    assert (words.what, words.code) == ("The job is done.", "wrong-state")
    assert words.fix


def test_other_errors_say_that_something_went_wrong_and_have_details() -> None:
    try:
        raise KeyError("lost")
    except KeyError as error:
        words = describe_error(error)
    assert "lost" in words.what
    assert "Traceback" in words.details


def test_what_was_refused_has_no_trace() -> None:
    with pytest.raises(WrongState) as raised:
        raise WrongState("The job is done.")
    assert describe_error(raised.value).details == ""


def test_an_error_without_a_message_has_its_name() -> None:
    assert "ValueError" in describe_error(ValueError()).what


def test_a_key_error_has_its_name_too() -> None:
    assert describe_error(KeyError("terrain")).what == "Something went wrong: KeyError: 'terrain'"


def test_the_advice_is_for_users_and_not_for_developers() -> None:
    words = describe_error(AlreadyExists("Gym(gym='north') already exists."))
    assert words.fix == "Choose another key, or change the existing item."


def test_a_refusal_names_the_role() -> None:
    assert describe_error(refusal(Role.OPERATOR)).what == "This needs the role operator."

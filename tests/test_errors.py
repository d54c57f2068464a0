"""One base for the errors of all rooms, with one shape."""

import inspect
import pickle
from typing import Any

import pytest

from gateleg.ai import errors as ai_errors
from gateleg.cli.installed import application_errors
from gateleg.errors import GatelegError, problem_message
from gateleg.host import errors
from gateleg.host.settings import BadSettings
from gateleg.jobs import GiveUp, Snooze, Stopped
from gateleg.jobs import errors as job_errors
from gateleg.migrate.errors import Unsettled
from gateleg.model import errors as model_errors
from gateleg.net import errors as net_errors
from gateleg.net import tokens as token_errors
from gateleg.objects import errors as object_errors
from gateleg.ops.templates import NotExpressible
from gateleg.store import errors as store_errors

ROOMS = (
    model_errors,
    store_errors,
    object_errors,
    net_errors,
    token_errors,
    job_errors,
    ai_errors,
    errors,
    *application_errors().values(),
)


def raised_in(module: Any) -> list[type[Exception]]:
    kinds = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, Exception)]
    return [kind for kind in kinds if kind.__module__ == module.__name__]


KINDS = [kind for module in ROOMS for kind in raised_in(module)] + [Unsettled, NotExpressible, BadSettings]


def faults(kind: type[Exception]) -> list[str]:
    """What the class of an error lacks."""
    if not issubclass(kind, GatelegError):
        return ["does not derive from GatelegError"]
    wrong = {"no code": not kind.code, "fix is no text": not isinstance(kind.fix, str), "no status of HTTP": not 300 <= kind.status < 600}
    return [fault for fault, found in wrong.items() if found]


def test_every_error_derives_from_one_base_and_has_its_shape() -> None:
    assert {kind.__qualname__: found for kind in KINDS if (found := faults(kind))} == {}


def takes_a_message_alone(kind: type[Exception]) -> bool:
    try:
        inspect.signature(kind).bind("x")
    except TypeError:
        return False
    return True


def again_like(error: Exception) -> bool:
    """Whether an error says the same after it was pickled."""
    again = pickle.loads(pickle.dumps(error))
    return (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)


def test_a_pickled_error_says_the_same() -> None:
    alone = [kind for kind in KINDS if takes_a_message_alone(kind)]
    assert len(alone) > 200
    assert [kind.__qualname__ for kind in alone if not again_like(kind("It is late."))] == []


@pytest.mark.parametrize(
    "error",
    [
        model_errors.MissingComponent("x needs y.", fix="Give y.", entity="Scene", missing=("y",)),
        store_errors.ConstraintFailed("x", attribute="a", bound="ge=0"),
        job_errors.BadConfig("x", problems=[{"loc": ("a",), "msg": "too small"}]),
        ai_errors.BadStructure("x", text="{", problems=["not JSON"], attempts=2),
        errors.NotSignedIn(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_pickled_error_keeps_its_further_fields(error: GatelegError) -> None:
    assert again_like(error)


@pytest.mark.parametrize("signal", [Snooze(5.5), GiveUp("no such account"), Stopped("cancelled")], ids=lambda signal: type(signal).__name__)
def test_a_pickled_signal_of_a_handler_says_the_same(signal: Exception) -> None:
    assert again_like(signal)


def test_the_text_of_an_error_has_message_reason_fix_and_code() -> None:
    error = GatelegError("The door is shut.", why="It is night.", fix="Come back tomorrow.")
    assert str(error) == "The door is shut. It is night. Come back tomorrow. [error]"
    assert (error.message, error.why, error.fix, error.code) == ("The door is shut.", "It is night.", "Come back tomorrow.", "error")


def test_the_code_of_an_error_is_its_name_unless_it_says_otherwise() -> None:
    class TooLateError(GatelegError):
        """It is late."""

    class S3Gone(TooLateError):
        """Nobody is there."""

    class Renamed(TooLateError):
        """It had another name."""

        code = "former-name"

    assert (TooLateError.code, S3Gone.code, Renamed.code) == ("too-late", "s3-gone", "former-name")


def test_no_two_errors_have_one_code_except_below_each_other() -> None:
    owners: dict[str, type[GatelegError]] = {}
    # The host's codes are words of HTTP, such as not-found, which rooms may share with it.
    for kind in (kind for kind in KINDS if issubclass(kind, GatelegError) and kind.__module__ != errors.__name__):
        other = owners.setdefault(kind.code, kind)
        assert issubclass(kind, other) or issubclass(other, kind), f"{kind} and {other} are both {kind.code!r}"


def test_callers_of_a_host_are_shown_public_words_and_the_fix() -> None:
    error = GatelegError("The service said: sk-1.", fix="Check the key.")
    assert error.public_text == "The service said: sk-1. Check the key."
    error.public = "The service answered 401."
    assert error.public_text == "The service answered 401. Check the key."


def test_message_reason_and_advice_are_sentences() -> None:
    assert str(GatelegError("no such file: a.toml", fix="Correct the path.")) == "no such file: a.toml. Correct the path. [error]"
    assert str(GatelegError("Is it there?", why="It was not", fix="Look")) == "Is it there? It was not. Look [error]"
    assert str(GatelegError("nothing to add")) == "nothing to add [error]"
    assert GatelegError("no such file", fix="Correct the path.").public_text == "no such file. Correct the path."


def test_an_error_of_gateleg_in_pydantics_problems_is_shown_without_its_code() -> None:
    problem = {"type": "value_error", "msg": "Value error, It is late. Come back. [error]"}
    shown = problem_message({**problem, "ctx": {"error": GatelegError("It is late.", fix="Come back.")}})
    assert shown == "It is late. Come back"


def test_pydantics_problems_are_told_without_its_prefix_and_with_what_json_lacks() -> None:
    assert problem_message({"type": "value_error", "msg": "Value error, 'x' is a URL"}) == "'x' is a URL"
    assert problem_message({"type": "json_invalid", "msg": "JSON decode error", "ctx": {"error": "Expecting value"}}) == (
        "JSON decode error: Expecting value"
    )

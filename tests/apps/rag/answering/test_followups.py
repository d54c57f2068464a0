"""Questions that continue a conversation."""

import pytest

from gateleg.apps.rag.answering.followups import PreviousTurn, resolve_followup
from tests.attack_strings import grows_steeply

FORMER = PreviousTurn("How long is the warranty of the P-100 in Lisbon?")


@pytest.mark.parametrize(
    ("question", "standalone"),
    [
        ("And in Porto?", "How long is the warranty of the P-100 in Porto?"),
        ("  and   in\n Porto  ? ", "How long is the warranty of the P-100 in Porto?"),
        ("What about the P-200?", "How long is the warranty of the P-100 in the P-200?"),
        ("Android?", "How long is the warranty of the P-100 in Android?"),
        ("How long is the warranty of the P-100 in Lisbon, and who pays for it?", None),
    ],
)
def test_another_thing_takes_the_place_of_the_first(question: str, standalone: str | None) -> None:
    assert resolve_followup(question, [FORMER]) == (standalone or question)


@pytest.mark.parametrize("former", ["How long is the warranty?", "of" + " " * 1_000 + "x?", "of of " * 200])
@pytest.mark.parametrize("attack", ["and x{}??x", "and {}of?", "{}", "and what about {}?", "of {} ?"])
@pytest.mark.parametrize("unit", [" ", "\n", " ?", "of ", "and ", "x"])
def test_the_time_grows_with_the_length_only(former: str, attack: str, unit: str) -> None:
    turn = PreviousTurn(former)
    assert not grows_steeply(lambda length: lambda: resolve_followup(attack.format(unit * (length // len(unit))), [turn]))

"""What a model is shown of a thread."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from gateleg.ai import Assistant, System, ToolCall, ToolResult, User
from gateleg.apps.agents.running.history import CallRecord, Turn, fit_history, messages_of, prompt_of


def turns(*texts: str) -> list[Turn]:
    """Turns of a person and an agent by turns, newest first."""
    return [Turn(f"{number:04d}", "user" if number % 2 == 0 else "assistant", text) for number, text in enumerate(texts)][::-1]


def words(text: str) -> int:
    return len(text.split())


def test_the_newest_turns_are_kept_in_their_order() -> None:
    found = fit_history(turns(*(f"m{number:03d}" for number in range(105))), tokens=10_000, most=3, count=words)
    assert [turn.text for turn in found.turns] == ["m102", "m103", "m104"]
    assert found.cut


def test_texts_that_repeat_are_all_kept() -> None:
    found = fit_history(turns("yes", "ok", "yes"), tokens=1_000, most=10, count=words)
    assert [turn.text for turn in found.turns] == ["yes", "ok", "yes"]


def test_what_was_cut_begins_with_a_person() -> None:
    found = fit_history(turns("a", "b", "c", "d", "e"), tokens=1_000, most=4, count=words)
    assert [turn.text for turn in found.turns] == ["c", "d", "e"]


def test_the_newest_turn_is_kept_however_long_it_is() -> None:
    found = fit_history(turns("a", "b", "word " * 500), tokens=100, most=10, count=words)
    assert [turn.id for turn in found.turns] == ["0002"]


def test_no_more_is_read_than_fits() -> None:
    read = []

    def source() -> Iterator[Turn]:
        for turn in turns(*(["one two three"] * 1000)):
            read.append(turn.id)
            yield turn

    fit_history(source(), tokens=100, most=1_000, count=words)
    assert len(read) < 20


@given(st.lists(st.text("ab ", min_size=1, max_size=40), min_size=1, max_size=30), st.integers(10, 200), st.integers(1, 20))
def test_a_history_is_a_whole_end_of_the_thread(texts: list[str], tokens: int, most: int) -> None:
    thread = turns(*texts)
    found = fit_history(thread, tokens=tokens, most=most, count=words)
    newest = list(reversed(found.turns))
    assert newest == thread[: len(newest)]
    assert 1 <= len(newest) <= most
    assert found.tokens <= tokens or len(newest) == 1
    assert found.cut is (len(newest) < len(thread))


def test_calls_come_with_their_results_and_those_without_are_said_to_have_failed() -> None:
    turn = Turn("1", "assistant", "", (CallRecord("c1", "a.b", '{"x":1}', "two"), CallRecord("c2", "a.b")))
    said, first, second = messages_of(turn, lambda name: name.replace(".", "_"))
    assert said == Assistant("", (ToolCall("c1", "a_b", '{"x":1}'), ToolCall("c2", "a_b")))
    assert first == ToolResult("c1", "a_b", "two")
    assert isinstance(second, ToolResult)
    assert second.failed


def test_a_prompt_has_instructions_and_the_summary_first() -> None:
    found = prompt_of("Be brief.", "They like tea.", [Turn("1", "user", "Hello")])
    assert isinstance(found[1], System)
    assert (found[0], "They like tea." in found[1].text, found[2]) == (System("Be brief."), True, User("Hello"))

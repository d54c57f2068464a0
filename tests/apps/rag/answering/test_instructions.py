"""Questions for steps are answered by what says how, and not by what has their words."""

import pytest

from gateleg.apps.rag.answering.candidates import candidates_of
from gateleg.apps.rag.answering.extraction import score_candidates, select_sentences
from gateleg.apps.rag.answering.instructions import identifier_stems
from gateleg.apps.rag.answering.questions import parse_question
from tests.apps.rag.answering.test_candidates import hit

KEYS = """A revoked key is refused everywhere within a second. Keys that nobody uses cannot be revoked by members.

```console
$ gateleg keys create ann --role admin
gl_6zq3...
$ gateleg keys revoke 6zq3
```
"""
LATER = """what | how
what: many at once; how: `queue.submit_many([...])`
what: later; how: `resize.submit(queue, config, delay=60)`
"""
TROUBLE = """symptom | cause | what to do
symptom: a job has a delay; cause: no worker; what to do: start a job worker
"""
CODE = """Values are unique in a table.

```python
from shop import Entity, Unique


class Book(Entity):
    isbn: str
    once = Unique("{isbn}")


store.ensure_tables(books)
```
"""


def answers(question: str, *passages: tuple[str, str]) -> list[str]:
    """What answers a question, without a model."""
    asked = parse_question(question)
    hits = [hit(text, heading=heading) for heading, text in passages]
    return [one.text for one in select_sentences(asked, score_candidates(asked, candidates_of(hits)))]


@pytest.mark.parametrize(
    ("question", "passages", "answer"),
    [
        ("How do I revoke a key?", [("Keys", KEYS)], ["gateleg keys revoke 6zq3"]),
        ("How do I create a key?", [("Keys", KEYS)], ["gateleg keys create ann --role admin"]),
        ("How do I delay a job?", [("Jobs", TROUBLE), ("Run jobs", LATER)], ["what: later; how: resize.submit(queue, config, delay=60)"]),
        ("How do I make a book unique?", [("Books", CODE)], ['class Book(Entity):\n    isbn: str\n    once = Unique("{isbn}")']),
    ],
)
def test_what_says_how_is_the_answer(question: str, passages: list[tuple[str, str]], answer: list[str]) -> None:
    assert answers(question, *passages) == answer


@pytest.mark.parametrize("question", ["How do I rotate a key?", "How do I revoke a licence?", "How do I make a customer unique?"])
def test_a_command_beside_other_words_is_none(question: str) -> None:
    assert answers(question, ("Keys", KEYS), ("Books", CODE)) == []


def test_code_answers_no_other_question() -> None:
    assert answers("How many keys are there?", ("Keys", KEYS)) == []
    assert answers("When is a key refused?", ("Keys", KEYS)) == ["A revoked key is refused everywhere within a second."]


def test_names_in_code_are_taken_apart() -> None:
    assert identifier_stems("allowedGroups=['x'], depends_on") == ["allow", "group", "x", "depend", "on"]


def test_two_words_of_a_verb_may_be_written_as_one() -> None:
    question = parse_question("How do I back up a table?")
    assert (question.words, question.verb) == ((("backup",), ("tabl",)), "backup")

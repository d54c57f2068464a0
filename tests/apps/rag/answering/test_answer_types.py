"""Whether a sentence has the kind of value that a question wants."""

import pytest

from gateleg.apps.rag.answering.answer_types import has_answer_type
from gateleg.apps.rag.answering.candidates import Candidate, Kind
from gateleg.apps.rag.answering.questions import parse_question


def fitting(question: str, text: str, kind: Kind = "sentence", context: str = "page") -> bool:
    return has_answer_type(parse_question(question), Candidate(1, text, 0, len(text), kind=kind, context=context))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the phone number of the caretaker?", "Call the caretaker at 0113 555 017."),
        ("What is the email address of the office?", "Write to the office: desk@example.org."),
        ("On which day is the museum closed?", "The museum is closed on Mondays."),
        ("What is the name of the curator?", "Our curator, Ada Moreau, opens it."),
        ("What is the name of the curator?", "Ada Moreau is the curator."),
        ("How much is the fee?", "The fee is 3 EUR."),
        ("What does the pump cost?", "The pump costs 12 EUR."),
        ("What is the maximum delay?", "The delay never exceeds 30 seconds."),
        ("Who repaired the pump?", "Tom repaired the pump."),
        ("What is a lease?", "A lease is the time for which a worker owns a job."),
        ("What is SQLite?", "SQLite (a library) is a database in a file."),
        ("What are access patterns?", "Access patterns are named queries."),
    ],
)
def test_it_has(question: str, text: str) -> None:
    assert fitting(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the phone number of the caretaker?", "If it shows ERR-7, call the caretaker."),
        ("What is the email address of the office?", "The address of the office is 9 Mill Lane; it has e-mail."),
        ("On which day is the museum closed?", "In winter the museum is closed from 4 p.m."),
        ("What is the name of the tenant?", "The landlord lets the flat at 8 Quay Street to the tenant."),
        ("How much is the fee?", "Error E42 asks for the fee."),
        ("What colour are the nets?", "The nets give low light in the dark."),
        ("What is a lease?", "A worker whose lease is over can change nothing."),
        ("What is a lease?", "A lease, or a role, is taken over by a worker."),
        ("What is a webhook?", "Webhooks of the tenant get the events."),
        ("What does the pump cost?", "Prices of pumps may rise."),
        ("What is the maximum delay?", "The delay before an attempt, in seconds."),
        ("Who repaired the pump?", "The repair of the pump would cost 640 EUR."),
    ],
)
def test_it_has_not(question: str, text: str) -> None:
    assert not fitting(question, text)


def test_what_is_counted_may_stand_in_the_sentence_before() -> None:
    question = parse_question("How many guests are vegetarians?")
    text = "Six of them are vegetarians."
    assert has_answer_type(question, Candidate(1, text, 0, len(text), before="We expect 34 guests."))
    assert not has_answer_type(question, Candidate(1, text, 0, len(text), before="We expect 34 boats."))


def test_a_row_may_say_why_in_a_cell() -> None:
    assert fitting("Why is the order on hold?", "order: A-1002; status: on hold; reason: credit check", "row")
    assert not fitting("Why is the order on hold?", "order: A-1002; status: on hold", "row")


def test_rows_and_headings_define() -> None:
    row = "word: lease; meaning: the time for which a worker owns a job"
    assert fitting("What is a lease?", row, "row")
    assert not fitting("What is a token?", row, "row")
    assert fitting("What is a scope?", "It binds a store to one partition.", context="store > Scopes")


def test_what_the_may_ask_for_a_value() -> None:
    assert parse_question("What is the new address?").answer_type is None
    assert parse_question("What is a step operation?").answer_type == "definition"

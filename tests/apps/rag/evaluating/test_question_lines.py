"""Questions of a golden set as lines of text, and the sentence about two ways of searching."""

import pytest

from gateleg.apps.rag.errors import BadValue
from gateleg.apps.rag.evaluating.question_lines import parse_questions
from gateleg.apps.rag.evaluating.tables import ConfigurationResult, EvaluationRun
from gateleg.apps.rag.web.run_part import comparison_text, rows_of


def test_lines_become_questions() -> None:
    found = parse_questions(["Where? | a.pdf; b.pdf | near the buoy", "", "  Who? ", "When?|c.pdf"])
    assert [(one.question, one.documents, one.answer) for one in found] == [
        ("Where?", ["a.pdf", "b.pdf"], "near the buoy"),
        ("Who?", [], None),
        ("When?", ["c.pdf"], None),
    ]
    for line in ("a|b|c|d", "| a.pdf"):
        with pytest.raises(BadValue, match="Line 2"):
            parse_questions(["First?", line])


def result(name: str, ndcg: float, answered: float | None = None) -> ConfigurationResult:
    return ConfigurationResult(name=name, recall=1, precision=0.1, mrr=1, ndcg=ndcg, hit_rate=1, milliseconds=12.3, answered=answered)


def test_two_ways_are_compared_in_a_sentence() -> None:
    first, second = result("hybrid", 0.5), result("vector", 0.4)
    lost = {"better": 1, "equal": 2, "worse": 9, "difference": -0.1, "chance": 0.02}
    assert comparison_text(first, second, lost) == (
        "Compared with hybrid, vector is better on 1, equal on 2 and worse on 9 questions (nDCG -0.100): "
        "the difference is significant (p = 0.02)."
    )
    assert "the difference may be chance (p = 0.34)" in comparison_text(first, second, {**lost, "chance": 0.34})
    assert "equally well" in comparison_text(first, second, {**lost, "better": 0, "worse": 0})


def test_measures_of_answers_are_shown_where_there_are_any() -> None:
    results = [result("hybrid", 0.5, answered=0.75), result("vector", 0.4)]
    run = EvaluationRun(
        run_id="r", repository_id="a", collection_id="b", set_id="s", set_name="S", questions=3, k=5, results=results, created_by="ann"
    )
    rows = {row.id: row.cells for row in rows_of(run)}
    assert (rows["ndcg"]["measure"], rows["ndcg"]["way0"], rows["ndcg"]["way1"]) == ("nDCG@5", "0.500", "0.400")
    assert (rows["answered"]["way0"], rows["answered"]["way1"]) == ("0.750", "-")
    assert "correct" not in rows

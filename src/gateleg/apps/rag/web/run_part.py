"""What an evaluation has measured: its ways of searching side by side, and the questions on which they differ most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.web.console.components import Column, Grid, Row, section, tag

if TYPE_CHECKING:
    from gateleg.apps.rag.evaluating.tables import ConfigurationResult, EvaluationRun

#: A measure: its attribute, its name, and what it says.
MEASURES = (
    ("ndcg", "nDCG@{k}", "how near the order is to the best one"),
    ("recall", "Recall@{k}", "how many of the right documents are among the first"),
    ("mrr", "MRR", "1 divided by the place of the first right document"),
    ("precision", "Precision@{k}", "how many of the first are right"),
    ("hit_rate", "Hit rate", "questions for which anything right was found"),
)
#: What is known of answers, where the questions were answered.
ANSWERS = (
    ("answered", "Answered", "of questions that the documents answer"),
    ("correct", "Correct", "with the facts of the right answer"),
    ("cited", "Cites a right document", "of those answered"),
    ("refused", "Refused", "of questions that the documents do not answer"),
)


def run_part(run: EvaluationRun) -> None:
    """A run."""
    ways = [Column(f"way{place}", result.name, right=True) for place, result in enumerate(run.results)]
    with section(f"{run.set_name}, {run.questions:,} questions"):
        Grid("Measures", [Column("measure", "Measure"), *ways, Column("about", "What it says", desk=True)], rows_of(run))
        for result, beside in zip(run.results[1:], run.comparisons, strict=False):
            tag("p", comparison_text(run.results[0], result, beside))
    with section("Questions on which they differ most" if len(run.results) > 1 else "Questions that went worst"):
        columns = [Column("question", "Question"), *ways]
        names = [result.name for result in run.results]
        rows = [
            Row(str(number), {"question": one["question"]} | {f"way{place}": _score(one, name) for place, name in enumerate(names)})
            for number, one in enumerate(run.details)
        ]
        Grid("Questions, by nDCG", columns, rows, complete=True)


def rows_of(run: EvaluationRun) -> list[Row]:
    """One row for each measure that is known of the run."""
    found = []
    for name, title, about in (*MEASURES, *ANSWERS):
        values = [getattr(result, name) for result in run.results]
        if any(value is not None for value in values):
            cells = {f"way{place}": "-" if value is None else f"{value:.3f}" for place, value in enumerate(values)}
            found.append(Row(name, {"measure": title.format(k=run.k), "about": about, **cells}))
    times = {f"way{place}": f"{result.milliseconds:.0f} ms" for place, result in enumerate(run.results)}
    return [*found, Row("milliseconds", {"measure": "Time of a search", "about": "on average", **times})]


def comparison_text(first: ConfigurationResult, second: ConfigurationResult, beside: dict[str, float]) -> str:
    """The second way beside the first, in a sentence."""
    counts = f"better on {beside['better']:.0f}, equal on {beside['equal']:.0f} and worse on {beside['worse']:.0f} questions"
    chance = beside["chance"]
    if not beside["better"] and not beside["worse"]:
        return f"Beside {first.name}, {second.name} ranks every question as well."
    verdict = "so large a difference is hardly chance" if chance < 0.05 else f"a difference that chance gives in {chance:.0%} of cases"
    return f"Beside {first.name}, {second.name} is {counts} (nDCG {beside['difference']:+.3f}): {verdict}."


def _score(one: dict[str, object], name: str) -> str:
    scores = one.get("ndcg")
    value = scores.get(name) if isinstance(scores, dict) else None
    return "-" if value is None else f"{float(value):.3f}"

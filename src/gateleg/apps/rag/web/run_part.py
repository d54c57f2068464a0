"""The results of an evaluation: its configurations side by side, and the questions on which they differ most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.web.console.components import Column, Grid, Row, section, tag

if TYPE_CHECKING:
    from gateleg.apps.rag.evaluating.tables import ConfigurationResult, EvaluationRun

#: Metrics of rankings: attribute, name, and meaning.
MEASURES = (
    ("ndcg", "nDCG@{k}", "how close the order is to the ideal order"),
    ("recall", "Recall@{k}", "share of the relevant documents that are among the first k"),
    ("mrr", "MRR", "1 divided by the rank of the first relevant document"),
    ("precision", "Precision@{k}", "share of the first k documents that are relevant"),
    ("hit_rate", "Hit rate", "share of questions with any relevant document among the first k"),
)
#: Metrics of answers, if the questions were answered.
ANSWERS = (
    ("answered", "Answered", "of the questions that the documents answer"),
    ("correct", "Correct", "answers with the facts of the expected answer"),
    ("cited", "Cites a relevant document", "of the answered questions"),
    ("refused", "Refused", "of the questions that the documents do not answer"),
)


def run_part(run: EvaluationRun) -> None:
    """Show a run."""
    ways = [Column(f"way{place}", result.name, right=True) for place, result in enumerate(run.results)]
    with section(f"{run.set_name}, {run.questions:,} questions"):
        Grid("Measures", [Column("measure", "Measure"), *ways, Column("about", "Meaning", desk=True)], rows_of(run))
        for result, beside in zip(run.results[1:], run.comparisons, strict=False):
            tag("p", comparison_text(run.results[0], result, beside))
    with section("Questions on which they differ most" if len(run.results) > 1 else "Questions with the worst results"):
        columns = [Column("question", "Question"), *ways]
        names = [result.name for result in run.results]
        rows = [
            Row(str(number), {"question": one["question"]} | {f"way{place}": _score(one, name) for place, name in enumerate(names)})
            for number, one in enumerate(run.details)
        ]
        Grid("Questions, by nDCG", columns, rows, complete=True)


def rows_of(run: EvaluationRun) -> list[Row]:
    """One row for each metric of the run."""
    found = []
    for name, title, about in (*MEASURES, *ANSWERS):
        values = [getattr(result, name) for result in run.results]
        if any(value is not None for value in values):
            cells = {f"way{place}": "-" if value is None else f"{value:.3f}" for place, value in enumerate(values)}
            found.append(Row(name, {"measure": title.format(k=run.k), "about": about, **cells}))
    times = {f"way{place}": f"{result.milliseconds:.0f} ms" for place, result in enumerate(run.results)}
    return [*found, Row("milliseconds", {"measure": "Search time", "about": "mean", **times})]


def comparison_text(first: ConfigurationResult, second: ConfigurationResult, beside: dict[str, float]) -> str:
    """Compare the second configuration with the first, in a sentence."""
    counts = f"better on {beside['better']:.0f}, equal on {beside['equal']:.0f} and worse on {beside['worse']:.0f} questions"
    chance = beside["chance"]
    if not beside["better"] and not beside["worse"]:
        return f"Compared with {first.name}, {second.name} ranks every question equally well."
    verdict = "the difference is significant" if chance < 0.05 else "the difference may be chance"
    return f"Compared with {first.name}, {second.name} is {counts} (nDCG {beside['difference']:+.3f}): {verdict} (p = {chance:.2f})."


def _score(one: dict[str, object], name: str) -> str:
    scores = one.get("ndcg")
    value = scores.get(name) if isinstance(scores, dict) else None
    return "-" if value is None else f"{float(value):.3f}"

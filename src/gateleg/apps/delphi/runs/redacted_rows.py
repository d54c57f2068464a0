"""Removes comments that were rejected after a run from its stored results. Pure.

Rows keep the number and the votes of a rejected comment, but not its text or words that occur only in rejected comments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.apps.delphi.runs.run_tables import NarrativeSection
from gateleg.apps.delphi.tables import ClusterKeywords, CommentEmbedding, JobResult, TopicName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.delphi.runs.rejections import Rejections

R = TypeVar("R", bound=JobResult)
#: The replacement for a name or a text that may not be shown.
WITHDRAWN = "(withdrawn)"


def redact_row(row: R, rejections: Rejections, names: Mapping[str, str] | None = None) -> R:
    """The row without rejected comments; the same object if nothing changes. `names` has replacement names of topics, by key."""
    if not rejections.comments:
        return row
    changes: dict[str, Any] = {}
    if isinstance(row, ClusterKeywords):
        changes = _keywords(row, rejections, names or {})
    elif isinstance(row, TopicName):
        changes = _topic_name(row, rejections, names or {})
    elif isinstance(row, NarrativeSection):
        changes = _section(row, rejections)
    elif isinstance(row, CommentEmbedding) and row.comment_id in rejections.comments and any(row.embedding.vector):
        changes = {"embedding": row.embedding.model_copy(update={"vector": [0.0] * len(row.embedding.vector)})}
    return row.model_copy(update=changes) if changes else row


def redact_summary(summary: Mapping[str, Any], rejections: Rejections) -> dict[str, Any]:
    """The figures of a run, without messages about a model's sentences if these quote rejected comments."""
    given_up = summary.get("given_up")
    if not given_up or not rejections.hide(str(given_up)):
        return dict(summary)
    return {**summary, "given_up": dict.fromkeys(given_up, WITHDRAWN)}


def _keywords(row: ClusterKeywords, rejections: Rejections, names: Mapping[str, str]) -> dict[str, Any]:
    words = [(word, score) for word, score in zip(row.top_words, row.top_tfidf_scores, strict=True) if not rejections.hide(word)]
    samples = list(zip(row.sample_comment_ids, row.sample_comments, strict=True))
    shown = [(number, text) for number, text in samples if number not in rejections.comments]
    changes: dict[str, Any] = {}
    if len(words) < len(row.top_words):
        changes |= {"top_words": [word for word, _ in words], "top_tfidf_scores": [score for _, score in words]}
    if len(shown) < len(samples):
        changes |= {"sample_comment_ids": [number for number, _ in shown], "sample_comments": [text for _, text in shown]}
    if rejections.hide(row.topic_label):
        changes["topic_label"] = names.get(row.cluster_key, WITHDRAWN)
    return changes


def _topic_name(row: TopicName, rejections: Rejections, names: Mapping[str, str]) -> dict[str, Any]:
    earlier = [one for one in row.earlier if not rejections.hide(one.topic_name)]
    changes: dict[str, Any] = {} if len(earlier) == len(row.earlier) else {"earlier": earlier}
    if rejections.hide(row.topic_name):
        changes["topic_name"] = names.get(row.topic_key, WITHDRAWN)
    return changes


def _section(row: NarrativeSection, rejections: Rejections) -> dict[str, Any]:
    """The section without sentences that cite a rejected comment or contain its words."""
    changes: dict[str, Any] = {"title": WITHDRAWN} if rejections.hide(row.title) else {}
    body = row.body | {"title": changes.get("title", row.body.get("title", ""))}
    body["paragraphs"] = [_paragraph(part, rejections) for part in row.body.get("paragraphs", [])]
    return changes | ({"body": body} if body != row.body else {})


def _paragraph(part: Mapping[str, Any], rejections: Rejections) -> dict[str, Any]:
    title = WITHDRAWN if rejections.hide(part.get("title", "")) else part.get("title", "")
    sentences = [one for one in part["sentences"] if not any(_hidden(clause, rejections) for clause in one["clauses"])]
    return {**part, "title": title, "sentences": sentences}


def _hidden(clause: Mapping[str, Any], rejections: Rejections) -> bool:
    return not rejections.comments.isdisjoint(clause.get("citations", ())) or rejections.hide(clause["text"])

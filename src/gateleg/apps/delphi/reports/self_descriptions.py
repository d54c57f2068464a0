"""What a report says about comments that describe their authors: those that moderators have marked, those that are suggested to them, and
what the groups would be without the suggested ones.

A suggestion takes nothing out of a report, with one exception: how a group of few people voted on a comment that may be about sex, age,
origin or health is not shown, because the group's members could be recognized by it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.reports.findings import LEAST_SHOWN, Alternative, Count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.delphi.conversations.conversation import Conversation
    from gateleg.apps.delphi.opinions.config import VotesConfig
    from gateleg.apps.delphi.reports.findings import Findings
    from gateleg.apps.delphi.topics.self_descriptions import Suggestion

#: The minimum size of a group that is described by comments about sex, age, origin or health.
LEAST_DESCRIBED = 10


def with_suggestions(findings: Findings, suggestions: Sequence[Suggestion]) -> Findings:
    """The findings with the suggestions about comments that are shown, without what these say about small groups."""
    shown = tuple(one for one in suggestions if one.comment_id in findings.statements)
    private = {one.comment_id for one in shown if one.kind == "identity"}
    small = {group.place for group in findings.groups if group.size < LEAST_DESCRIBED}
    if not private or not small:
        return replace(findings, suggested=shown)
    statements = {
        number: replace(one, groups=tuple(Count() if place in small else count for place, count in enumerate(one.groups)))
        if number in private
        else one
        for number, one in findings.statements.items()
    }
    groups = tuple(
        replace(group, representatives=tuple(one for one in group.representatives if one.comment_id not in private))
        if group.place in small
        else group
        for group in findings.groups
    )
    return replace(findings, suggested=shown, statements=statements, groups=groups)


def with_alternative(findings: Findings, conversation: Conversation, config: VotesConfig) -> Findings:
    """The findings, and which groups the same analysis would find without the suggested comments. Unchanged without suggestions."""
    if not findings.suggested:
        return findings
    # Imported here: reading stored results does not need the analysis.
    from gateleg.apps.delphi.opinions.stage import analyse

    excluded = config.excluded_comments | {one.comment_id for one in findings.suggested}
    opinions = analyse(
        conversation.votes,
        conversation.comments,
        config.model_copy(update={"excluded_comments": excluded}),
        removed_participants=conversation.removed_participants,
    )
    sizes = tuple(sorted((size for size in opinions.tallies.group_sizes.tolist() if size >= LEAST_SHOWN), reverse=True))
    labels = opinions.groups.group_of(len(opinions.matrix.participants))
    both = (findings.people_groups >= 0) & (np.asarray(labels) >= 0)
    alike = agreement(findings.people_groups[both], np.asarray(labels)[both])
    stability = None if opinions.stability is None else opinions.stability.overall
    return replace(findings, without=Alternative(sizes, stability, opinions.chance.as_strong, round(alike, 4)))


def sentences_of(findings: Findings) -> list[str]:
    """What readers are told about suggestions; nothing without any."""
    if not findings.suggested:
        return []
    count = len(findings.suggested)
    numbers = ", ".join(f"#{one.comment_id}" for one in findings.suggested)
    what = "1 comment seems to describe its author" if count == 1 else f"{count:,} comments seem to describe their authors"
    decided = "A program suggests this; no moderator has decided it, and nothing was taken out."
    told = [f"{what} rather than an opinion: {numbers}. {decided}"]
    if findings.without is not None:
        told.append(_alternative(findings, findings.without))
    return told


def _alternative(findings: Findings, without: Alternative) -> str:
    now = _division(tuple(group.size for group in findings.groups), findings.certainty.stability)
    then = _division(without.sizes, without.stability)
    test = " By the shuffling test, those differences may be due to chance." if without.as_strong else ""
    alike = f" The two divisions agree by {without.agreement:.2f}, where one is the same division and zero is chance."
    compared = alike if len(without.sizes) > 1 and len(findings.groups) > 1 else ""
    return f"Without {'it' if len(findings.suggested) == 1 else 'them'} there would be {then}, instead of {now}.{compared}{test}"


def _division(sizes: tuple[int, ...], stability: float | None) -> str:
    if len(sizes) < 2:
        return "no groups"
    known = "" if stability is None else f", stability {stability:.2f}"
    return f"{len(sizes)} groups ({' and '.join(f'{size:,}' for size in sorted(sizes, reverse=True))} people{known})"

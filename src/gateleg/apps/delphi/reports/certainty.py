"""Sentences on how reliable groups are: the same in the report, on pages and on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.opinions.modes import DIVISIONS

if TYPE_CHECKING:
    from gateleg.apps.delphi.reports.findings import Findings

#: The stability from which groups are stable, and below which they are hardly more stable than groups in random votes.
STABLE, MOSTLY_STABLE = 0.8, 0.5


def certainty_of(findings: Findings) -> list[str]:
    """Sentences on whether the groups may be due to chance, are stable, and were seen by participants; none for untested runs."""
    return [sentence for sentence in (_chance(findings), _stability(findings), DIVISIONS[findings.certainty.division]) if sentence]


def verdict_of(findings: Findings) -> str:
    """A short verdict on the groups, without a capital letter and a full stop; empty for untested runs."""
    known, found = findings.certainty, len(findings.groups) > 1
    if known.draws and known.as_strong:
        return "these groups may be due to chance" if found else "no groups found: the differences may be due to chance"
    if not found:
        return "no groups found" if known.draws else ""
    if known.stability is None:
        return ""
    return _how_stable(known.stability)


def _chance(findings: Findings) -> str:
    known, found = findings.certainty, len(findings.groups) > 1
    if not known.draws:
        return ""
    shuffled = f"When the votes on each comment were shuffled among those who cast them, {known.draws} times, people differed as strongly"
    if known.as_strong:
        meaning = (
            "So these groups may be due to chance."
            if found
            else "So what looks like groups may be due to chance, and everybody is shown as one group."
        )
        return f"{'' if found else 'No groups were found. '}{shuffled} in {known.as_strong} of these shuffles. {meaning}"
    if not found:
        return "No groups were found: no division into large enough groups also separates people who were left out when it was computed."
    return f"{shuffled} in none of these shuffles: chance alone does not explain the differences."


def _stability(findings: Findings) -> str:
    known = findings.certainty
    if known.stability is None or len(findings.groups) < 2:
        return ""
    result = f"When a fifth of the comments is left out, the groups reappear with a stability of {known.stability:.2f}"
    return f"{result}, where zero is chance and one is unchanged: {_how_stable(known.stability)}."


def _how_stable(stability: float) -> str:
    if stability >= STABLE:
        return "the groups are stable"
    if stability >= MOSTLY_STABLE:
        return "the groups are mostly stable, but people between them could be in either"
    return "the groups are unstable, a tendency rather than camps"

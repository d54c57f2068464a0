"""How far the groups of a conversation can be trusted, in the same words in the report, on pages and on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.opinions.modes import DIVISIONS

if TYPE_CHECKING:
    from gateleg.apps.delphi.reports.findings import Findings

#: The stability from which groups hold well, and the one below which they are hardly more stable than groups in random votes.
HOLDS, BARELY = 0.8, 0.5


def certainty_of(findings: Findings) -> list[str]:
    """Sentences on whether the groups may be chance, how stable they are and whether participants saw them; none for runs without tests."""
    return [sentence for sentence in (_chance(findings), _stability(findings), DIVISIONS[findings.certainty.division]) if sentence]


def verdict_of(findings: Findings) -> str:
    """The same in a few words."""
    known, found = findings.certainty, len(findings.groups) > 1
    if known.draws and known.as_strong:
        return "these groups may be chance" if found else "no groups found: what differs may be chance"
    if not found:
        return "no groups found" if known.draws else ""
    if known.stability is None:
        return ""
    return _hold(known.stability)


def _chance(findings: Findings) -> str:
    known, found = findings.certainty, len(findings.groups) > 1
    if not known.draws:
        return ""
    shuffled = f"When the votes on each comment were shuffled among those who cast them, {known.draws} times, people differed as strongly"
    if known.as_strong:
        meaning = (
            "So these groups may be chance." if found else "So what looks like groups may be chance, and everybody is shown as one group."
        )
        return f"{'' if found else 'No groups were found. '}{shuffled} in {known.as_strong} of these shuffles. {meaning}"
    if not found:
        return "No groups were found: no division into groups that are large enough also separates people who had no part in finding it."
    return f"{shuffled} in none of these shuffles: chance alone does not explain the differences."


def _stability(findings: Findings) -> str:
    known = findings.certainty
    if known.stability is None or len(findings.groups) < 2:
        return ""
    told = f"When a fifth of the comments is left out, the groups come back with a stability of {known.stability:.2f}"
    return f"{told}, where zero is chance and one is unchanged: {_hold(known.stability)}."


def _hold(stability: float) -> str:
    if stability >= HOLDS:
        return "the groups hold well"
    if stability >= BARELY:
        return "the groups hold in the main, and people between them could be in either"
    return "the groups hold poorly, and are a tendency rather than camps"

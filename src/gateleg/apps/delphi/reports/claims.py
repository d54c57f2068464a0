"""What a report may say about votes: a small grammar of claims, each verified against the votes and then written by a template.

    clause = state(Agreement(comment=7), findings)      # "In every group at least 81% agree ...", or `UnfoundedClaim`

A claim has no words and no figures of its own: it names a comment, a side and groups. So whoever makes claims, a template or a model, can
choose what is said, but can say nothing that the votes do not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateleg.apps.delphi.opinions.proportions import Z90, two_proportion_test
from gateleg.apps.delphi.reports.findings import UNSURE_SHARE, Count, least_bound, total
from gateleg.apps.delphi.reports.sections import Clause, number_of

if TYPE_CHECKING:
    from gateleg.apps.delphi.reports.findings import Findings, Group, Statement

Side = Literal["agree", "disagree"]
_LONGEST_QUOTE = 240


class UnfoundedClaim(ValueError):
    """A claim that the votes do not support, or that is about a comment or group that is not in the report."""


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    comment: int = Field(description="the id of the comment that the claim is about")


class Share(_Claim):
    """How many of everybody, or of one group, take a side on a comment or pass on it."""

    kind: Literal["share"] = "share"
    side: Literal["agree", "disagree", "pass"]
    group: str | None = Field(default=None, description="the letter of a group; null for everybody")


class Majority(_Claim):
    """A clear majority of everybody, or of one group, takes a side on a comment."""

    kind: Literal["majority"] = "majority"
    side: Side
    group: str | None = Field(default=None, description="the letter of a group; null for everybody")


class Comparison(_Claim):
    """A larger share of one group than of another, or of all others, takes a side on a comment."""

    kind: Literal["comparison"] = "comparison"
    side: Side
    group: str = Field(description="the letter of the group with the larger share")
    other: str | None = Field(default=None, description="the letter of the group with the smaller share; null for all other groups")


class Agreement(_Claim):
    """A clear majority of every group agrees with a comment."""

    kind: Literal["agreement"] = "agreement"


class Division(_Claim):
    """A majority of one group agrees with a comment, and a majority of another disagrees."""

    kind: Literal["division"] = "division"
    agreeing: str = Field(description="the letter of the group that agrees")
    disagreeing: str = Field(description="the letter of the group that disagrees")


class Passing(_Claim):
    """Many pass on a comment."""

    kind: Literal["passing"] = "passing"


Claim = Annotated[Share | Majority | Comparison | Agreement | Division | Passing, Field(discriminator="kind")]


def state(claim: Claim, findings: Findings) -> Clause:
    """The claim as a clause that cites its comment. Raises `UnfoundedClaim` if the votes do not support it."""
    verify(claim, findings)
    return Clause(text=f"{_written(claim, findings)}: {quote(findings.statements[claim.comment])}", citations=(claim.comment,))


def about_participants(statement: Statement) -> Clause:
    """How many of everybody agree with a comment about participants, which is not among the statements, as a clause that cites it."""
    count = statement.everybody
    words = f"{_percent(count, 'agree')} of {number_of(count.votes, 'voter')} agree"
    return Clause(text=f"{words}: {quote(statement)}", citations=(statement.comment_id,))


def is_supported(claim: Claim, findings: Findings) -> bool:
    """Whether the votes support a claim."""
    try:
        verify(claim, findings)
    except UnfoundedClaim:
        return False
    return True


def verify(claim: Claim, findings: Findings) -> None:
    """Raise `UnfoundedClaim`, with the reason, if the votes do not support a claim."""
    statement = findings.statements.get(claim.comment)
    if statement is None:
        raise UnfoundedClaim(f"Comment {claim.comment} does not exist, or moderators rejected it.")
    match claim:
        case Share(group=group):
            _enough(_votes(findings, statement, group), claim, group)
        case Majority(side=side, group=group):
            count = _enough(_votes(findings, statement, group), claim, group)
            if count.interval(side)[0] <= 0.5:
                raise UnfoundedClaim(f"No clear majority {_of(group)} {_takes(side)} comment {claim.comment}.")
        case Comparison(side=side, group=group, other=other):
            if group == other:
                raise UnfoundedClaim(f"Group {group} cannot be compared with itself.")
            own = _enough(_votes(findings, statement, group), claim, group)
            rest = _enough(_votes_beside(findings, statement, group, other), claim, other or f"others than {group}")
            if not _exceeds(own, rest, side):
                raise UnfoundedClaim(f"The share {_of(group)} that {_takes(side)} comment {claim.comment} is not clearly larger.")
        case Agreement():
            if not statement.groups or not all(count.enough for count in statement.groups) or least_bound(statement) <= 0.5:
                raise UnfoundedClaim(f"Not every group has a clear majority that agrees with comment {claim.comment}.")
        case Division(agreeing=agreeing, disagreeing=disagreeing):
            for group, side in ((agreeing, "agree"), (disagreeing, "disagree")):
                if _enough(_votes(findings, statement, group), claim, group).share(side) <= 0.5:
                    raise UnfoundedClaim(f"No majority {_of(group)} {_takes(side)} comment {claim.comment}.")
        case Passing():
            if _enough(statement.everybody, claim, None).share("pass") < UNSURE_SHARE:
                raise UnfoundedClaim(f"Few pass on comment {claim.comment}.")


def _enough(count: Count, claim: Claim, group: str | None) -> Count:
    if not count.enough:
        raise UnfoundedClaim(f"Comment {claim.comment} has too few votes {_of(group)} for a share.")
    return count


def _of(group: str | None) -> str:
    return "of everybody" if group is None else f"of Group {group}"


def _takes(side: str) -> str:
    return "agrees with" if side == "agree" else "disagrees with"


def _group(findings: Findings, letter: str) -> Group:
    for group in findings.groups:
        if group.letter == letter.strip().removeprefix("Group ").strip():
            return group
    raise UnfoundedClaim(f"There is no Group {letter}.")


def _votes(findings: Findings, statement: Statement, group: str | None) -> Count:
    return statement.everybody if group is None else statement.groups[_group(findings, group).place]


def _votes_beside(findings: Findings, statement: Statement, group: str, other: str | None) -> Count:
    """The votes of another group, or of all groups but one."""
    if other is not None:
        return _votes(findings, statement, other)
    own = _group(findings, group).place
    return total(count for place, count in enumerate(statement.groups) if place != own)


def _exceeds(count: Count, other: Count, side: Side) -> bool:
    """Whether a share is larger than another beyond chance, and by a whole per cent as readers see it."""
    taken, taken_by_others = (round(one.share(side) * one.votes) for one in (count, other))
    test = float(two_proportion_test(taken, taken_by_others, count.votes, other.votes))
    return test > Z90 and whole_percent(count.share(side)) > whole_percent(other.share(side))


def _written(claim: Claim, findings: Findings) -> str:
    """The words of a claim that is verified."""
    statement = findings.statements[claim.comment]
    match claim:
        case Share(side=side, group=group) | Majority(side=side, group=group) if group is None:
            return f"{_percent(statement.everybody, side)} of {number_of(statement.everybody.votes, 'voter')} {side}"
        case Share(side=side, group=str() as group) | Majority(side=side, group=str() as group):
            return _beside_others(findings, statement, _group(findings, group), side)
        case Comparison(side=side, group=group, other=None):
            return _beside_others(findings, statement, _group(findings, group), side)
        case Comparison(side=side, group=group, other=str() as other):
            return ", ".join(_share_of(statement, _group(findings, letter), side) for letter in (group, other))
        case Agreement():
            return _everywhere(findings, statement)
        case Division(agreeing=agreeing, disagreeing=disagreeing):
            sides = ((agreeing, "agree"), (disagreeing, "disagree"))
            return ", ".join(_share_of(statement, _group(findings, letter), side) for letter, side in sides)
        case Passing():
            return f"{_percent(statement.everybody, 'pass')} of {number_of(statement.everybody.votes, 'voter')} pass"
    raise AssertionError(claim)


def _share_of(statement: Statement, group: Group, side: str) -> str:
    count = statement.groups[group.place]
    return f"{_percent(count, side)} of {count.votes:,} in {group.name} {side}"


def _beside_others(findings: Findings, statement: Statement, group: Group, side: str) -> str:
    rest = _votes_beside(findings, statement, group.letter, None)
    elsewhere = f", elsewhere {_percent(rest, side)} of {rest.votes:,} {side}" if rest.enough else ""
    return f"{_share_of(statement, group, side)}{elsewhere}"


def _everywhere(findings: Findings, statement: Statement) -> str:
    if len(statement.groups) == 1:
        return _written(Share(comment=statement.comment_id, side="agree"), findings)
    least = min(findings.groups, key=lambda group: (statement.groups[group.place].share("agree"), group.place))
    count = statement.groups[least.place]
    where = f"the least, of {number_of(count.votes, 'vote')}, in {least.name}"
    return f"In every group at least {_percent(count, 'agree')} agree ({where})"


def quote(statement: Statement) -> str:
    """The comment in quotation marks, truncated if it is long."""
    text = " ".join(statement.body.replace("“", "‘").replace("”", "’").split())
    if len(text) > _LONGEST_QUOTE:
        text = text[:_LONGEST_QUOTE].rsplit(" ", 1)[0] + "…"
    return f"“{text}”"


def _percent(count: Count, side: str) -> str:
    return f"{whole_percent(count.share(side))}%"


def whole_percent(share: float) -> int:
    """A share in whole per cent, as readers see it."""
    return round(100 * share)

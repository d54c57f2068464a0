from dataclasses import replace

import pytest
from pydantic import TypeAdapter, ValidationError

from gateleg.apps.delphi.reports.claims import (
    Agreement,
    Claim,
    Comparison,
    Division,
    Majority,
    Passing,
    Share,
    UnfoundedClaim,
    is_supported,
    state,
)
from gateleg.apps.delphi.reports.findings import Count, Findings, Statement
from tests.apps.delphi.told import findings

BUS, CATS, SEEN, TAX, PARK = 1, 2, 3, 4, 5


def _found() -> Findings:
    """Two groups. Group A is for night buses and Group B against; nearly everybody has cats; few have seen one comment; slightly more than
    half of both groups are for a tax; a third of all pass on the park."""
    statements = (
        Statement(BUS, "Buses should run at night.", Count(75, 19, 6), (Count(72, 4, 4), Count(3, 15, 2))),
        Statement(CATS, "Cats are “nice”.", Count(95, 3, 2), (Count(76, 2, 2), Count(19, 1, 0))),
        Statement(SEEN, "Few have seen this.", Count(3, 1, 0), (Count(3, 1, 0), Count())),
        Statement(TAX, "A tax on cars.", Count(53, 47, 0), (Count(42, 38, 0), Count(11, 9, 0))),
        Statement(PARK, "A new park.", Count(40, 25, 35), (Count(32, 20, 28), Count(8, 5, 7))),
    )
    base = findings()
    return replace(base, statements={one.comment_id: one for one in statements}, groups=base.groups[:2])


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (Share(comment=BUS, side="agree"), "75% of 100 voters agree: “Buses should run at night.”"),
        (Share(comment=BUS, side="pass", group="B"), "10% of 20 in Group B pass, elsewhere 5% of 80 pass: “Buses should run at night.”"),
        (Majority(comment=BUS, side="agree"), "75% of 100 voters agree: “Buses should run at night.”"),
        (
            Majority(comment=BUS, side="disagree", group="B"),
            "75% of 20 in Group B disagree, elsewhere 5% of 80 disagree: “Buses should run at night.”",
        ),
        (
            Comparison(comment=BUS, side="agree", group="A"),
            "90% of 80 in Group A agree, elsewhere 15% of 20 agree: “Buses should run at night.”",
        ),
        (
            Comparison(comment=BUS, side="disagree", group="B", other="A"),
            "75% of 20 in Group B disagree, 5% of 80 in Group A disagree: “Buses should run at night.”",
        ),
        (Agreement(comment=CATS), "In every group at least 95% agree (the least, of 80 votes, in Group A): “Cats are ‘nice’.”"),
        (
            Division(comment=BUS, agreeing="A", disagreeing="B"),
            "90% of 80 in Group A agree, 75% of 20 in Group B disagree: “Buses should run at night.”",
        ),
        (Passing(comment=PARK), "35% of 100 voters pass: “A new park.”"),
    ],
)
def test_a_claim_that_the_votes_support_is_written_from_them(claim: Claim, text: str) -> None:
    clause = state(claim, _found())
    assert (clause.text, clause.citations) == (text, (claim.comment,))


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (Share(comment=77, side="agree"), "does not exist"),
        (Share(comment=BUS, side="agree", group="X"), "no Group X"),
        (Share(comment=BUS, side="agree", group="The mayor has been bribed"), "There is no Group"),
        (Share(comment=SEEN, side="agree"), "too few votes of everybody"),
        (Share(comment=SEEN, side="agree", group="B"), "too few votes of Group B"),
        # The falsehoods of models, as claims: nobody, few, a small minority, half, most, both groups split, less than the others.
        (Majority(comment=CATS, side="disagree"), "No clear majority"),
        (Majority(comment=CATS, side="disagree", group="A"), "No clear majority"),
        (Majority(comment=BUS, side="agree", group="B"), "No clear majority"),
        (Majority(comment=TAX, side="agree"), "No clear majority"),
        (Majority(comment=PARK, side="agree"), "No clear majority"),
        (Comparison(comment=CATS, side="agree", group="A", other="B"), "not clearly larger"),
        (Comparison(comment=CATS, side="disagree", group="B"), "not clearly larger"),
        (Comparison(comment=TAX, side="agree", group="B"), "not clearly larger"),
        (Comparison(comment=BUS, side="agree", group="B", other="A"), "not clearly larger"),
        (Comparison(comment=BUS, side="agree", group="A", other="A"), "with itself"),
        (Comparison(comment=SEEN, side="agree", group="A"), "too few votes"),
        (Agreement(comment=BUS), "Not every group"),
        (Agreement(comment=TAX), "Not every group"),
        (Agreement(comment=SEEN), "Not every group"),
        (Division(comment=CATS, agreeing="A", disagreeing="B"), "No majority of Group B disagrees"),
        (Division(comment=BUS, agreeing="B", disagreeing="A"), "No majority of Group B agrees"),
        (Passing(comment=CATS), "Few pass"),
        (Passing(comment=SEEN), "too few votes"),
    ],
)
def test_a_claim_that_the_votes_do_not_support_is_refused_with_the_reason(claim: Claim, why: str) -> None:
    with pytest.raises(UnfoundedClaim, match=why):
        state(claim, _found())
    assert not is_supported(claim, _found())


def test_a_rejected_comment_cannot_be_claimed_about() -> None:
    assert not is_supported(Share(comment=10**6, side="agree"), findings())


def test_without_groups_nothing_is_said_of_all_groups() -> None:
    found = replace(_found(), groups=(), statements={CATS: Statement(CATS, "Cats", Count(95, 3, 2))})
    assert not is_supported(Agreement(comment=CATS), found)
    assert is_supported(Majority(comment=CATS, side="agree"), found)


def test_a_claim_of_another_kind_is_none() -> None:
    claim: TypeAdapter[Claim] = TypeAdapter(Claim)
    with pytest.raises(ValidationError):
        claim.validate_python({"kind": "prose", "comment": 1, "text": "The mayor has been bribed."})
    read = claim.validate_python({"kind": "agreement", "comment": CATS, "text": "The mayor has been bribed."})
    assert "mayor" not in state(read, _found()).text

from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.reports.participation import Participation, participation_of


def test_who_hardly_voted_and_when_is_counted_by_the_last_vote_on_each_comment() -> None:
    # Eleven people on ten comments: the first votes on all of them, and twice on one; the others vote once, at the end.
    rows = [(0, comment, 1, 1_000 * comment) for comment in range(10)] + [(0, 9, -1, 9_000)]
    rows += [(person, 0, 1, 9_000) for person in range(1, 11)]
    found = participation_of(Votes.of(rows), [0, 1, 2])
    assert (found.participants, found.votes) == (11, 20)
    assert (found.rare, found.rare_votes) == (10, 10)
    assert (found.busiest, found.busiest_votes) == (1, 10)
    assert (found.first_quarter, found.last_quarter) == (3, 13)
    assert (found.seldom_seen, found.comments) == (2, 3)


def test_nothing_is_said_of_quarters_where_all_votes_are_of_one_moment() -> None:
    found = participation_of(Votes.of([(person, 0, 1, 5) for person in range(3)]), [0])
    assert (found.first_quarter, found.last_quarter, found.busiest) == (None, None, 0)


def test_a_conversation_without_votes_has_nobody_who_was_not_heard() -> None:
    assert participation_of(Votes.of([]), [0, 1]) == Participation(comments=2)

"""A group of one or two people is not shown as a group."""

import numpy as np

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.stage import Opinions, analyse
from gateleg.apps.delphi.reports.artifacts import data_files
from gateleg.apps.delphi.reports.findings import find


def one_against_all() -> Conversation:
    """Forty people who vote much alike, and one who is against everything."""
    random = np.random.default_rng(1)
    rows = [(person, comment, 1 if random.random() < 0.97 else -1, 0) for person in range(40) for comment in range(20)]
    rows += [(40, comment, -1, 0) for comment in range(20)]
    return Conversation("c", Votes.of(rows), [Comment(number, f"Statement {number}") for number in range(20)])


def analysed(mode: str) -> Opinions:
    conversation = one_against_all()
    return analyse(conversation.votes, conversation.comments, VotesConfig.model_validate({"mode": mode}))


def test_the_groups_of_polis_are_shown_without_those_of_one_or_two() -> None:
    conversation, opinions = one_against_all(), analysed("exact")
    sizes = opinions.tallies.group_sizes.tolist()
    assert min(sizes) < 3
    findings = find(conversation, opinions)
    assert [group.size for group in findings.groups] == [size for size in sizes if size >= 3]
    assert {len(statement.groups) for statement in findings.statements.values()} == {len(findings.groups)}
    assert int(findings.people_groups.max()) < len(findings.groups)
    lonely = next(
        line
        for line in data_files(findings, opinions.matrix, conversation.comments)["participant-votes.csv"].splitlines()
        if line.startswith("40,")
    )
    assert lonely.startswith("40,,")

"""A synthetic conversation with its findings, and topics that were put there by hand."""

from dataclasses import replace
from functools import cache

import numpy as np

from gateleg.apps.delphi.conversations.conversation import Conversation
from gateleg.apps.delphi.conversations.synthetic import Synthetic, SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.stage import Opinions, analyse
from gateleg.apps.delphi.reports.findings import Findings, find
from gateleg.apps.delphi.topics.keywords import Keyword
from gateleg.apps.delphi.topics.names import Naming
from gateleg.apps.delphi.topics.stage import Topic

NAMES = ("Buses", "Rents", "Schools", "Clinics")


@cache
def synthetic() -> Synthetic:
    return synthesise(SyntheticPlan(participants=150, comments=40, groups=3, topics=4, seed=3))


@cache
def opinions() -> Opinions:
    found = synthetic().conversation
    return analyse(found.votes, found.comments)


@cache
def findings() -> Findings:
    """The findings with four fine topics in two coarse ones."""
    return with_topics(find(synthetic().conversation, opinions()), synthetic().topic_of.tolist())


def with_topics(plain: Findings, topic_of: list[int]) -> Findings:
    fine = tuple(_topic(0, number, [one for one, topic in enumerate(topic_of) if topic == number], NAMES[number]) for number in range(4))
    coarse = tuple(
        replace(
            _topic(1, number, [*fine[2 * number].comments, *fine[2 * number + 1].comments], ("Living", "Services")[number]),
            children=(fine[2 * number].key, fine[2 * number + 1].key),
        )
        for number in range(2)
    )
    fine = tuple(replace(topic, parent=coarse[topic.number // 2].key) for topic in fine)
    random = np.random.default_rng(0)
    statements = {
        number: replace(
            statement,
            topics=(f"layer0_{topic_of[number]}", f"layer1_{topic_of[number] // 2}"),
            position=(float(random.uniform(-1, 1)), float(random.uniform(-1, 1))),
        )
        for number, statement in plain.statements.items()
    }
    return replace(plain, topics=(fine, coarse), statements=statements)


def _topic(layer: int, number: int, comments: list[int], name: str) -> Topic:
    return Topic(
        layer,
        number,
        tuple(sorted(comments)),
        Naming(name, "keywords"),
        (Keyword(name.lower(), 1.0),),
        tuple(sorted(comments)[:2]),
        (0.1 * number, 0.2),
        None,
        (),
        f"{layer}{number}",
    )


def empty() -> Findings:
    """The findings of a conversation that nobody has voted in."""
    nothing = Conversation("empty", Votes.of([]), [])
    return find(nothing, analyse(nothing.votes, nothing.comments))

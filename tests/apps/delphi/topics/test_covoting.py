"""Vectors from votes, for languages that the embedding model does not know."""

import numpy as np

from gateleg.apps.delphi.conversations.conversation import Comment
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.topics.covoting import covoting_vectors, with_votes
from gateleg.apps.delphi.topics.stage import analyse_comments
from gateleg.apps.delphi.topics.words import word_vectors
from tests.apps.delphi.texts import local_embeddings

PEOPLE = 60
#: No two share a word or its beginning.
GERMAN = ["Nachtbusse fahren", "Haltestellen fehlen", "Straßenbahn ausbauen", "Mieten steigen", "Wohnraum schaffen", "Eigenbedarf prüfen"]


def votes_on_two_subjects() -> Votes:
    """Comments 0 to 2 divide people in one way, 3 to 5 in another; on 2 and 5 everybody takes the opposite side."""
    sides = np.random.default_rng(1).choice([-1, 1], size=(PEOPLE, 2))
    turned = (1, 1, -1, 1, 1, -1)
    return Votes.of(
        (person, comment, int(sides[person, comment // 3]) * turned[comment], 0) for person in range(PEOPLE) for comment in range(6)
    )


def test_comments_that_divide_people_alike_or_the_other_way_round_are_near() -> None:
    vectors = covoting_vectors(votes_on_two_subjects(), range(6))
    nearness = vectors @ vectors.T
    assert nearness[:3, :3].min() > 0.9
    assert nearness[3:, 3:].min() > 0.9
    assert np.abs(nearness[:3, 3:]).max() < 0.5


def test_comments_without_votes_have_no_direction() -> None:
    vectors = covoting_vectors(votes_on_two_subjects(), [*range(6), 99])
    assert not vectors[-1].any()
    assert not covoting_vectors(Votes.of([]), [1, 2]).any()


def test_comments_that_share_no_word_are_told_apart_by_votes() -> None:
    words = word_vectors(GERMAN)
    assert np.allclose(words @ words.T, 1.0)
    joined = with_votes(words, votes_on_two_subjects(), range(6))
    assert np.allclose(np.linalg.norm(joined, axis=1), 1.0, atol=1e-4)
    nearness = joined @ joined.T
    assert min(nearness[:3, :3].min(), nearness[3:, 3:].min()) > nearness[:3, 3:].max() + 0.1


def test_texts_that_say_nothing_stay_without_a_direction() -> None:
    assert not with_votes(word_vectors(["", "Mieten steigen", "Mieten sinken"]), votes_on_two_subjects(), [0, 1, 2])[0].any()


def test_votes_are_asked_for_only_where_the_model_does_not_know_the_language() -> None:
    asked: list[int] = []

    def votes() -> Votes:
        asked.append(1)
        return votes_on_two_subjects()

    analyse_comments([Comment(0, "The night bus is always late")], local_embeddings(), votes=votes)
    assert not asked
    topics = analyse_comments([Comment(number, text) for number, text in enumerate(GERMAN)], local_embeddings(), votes=votes)
    assert asked
    assert topics.model == "words"
    assert len({layer.tobytes() for layer in topics.vectors}) > 1


def test_votes_on_rejected_comments_shape_nothing() -> None:
    comments = [Comment(number, text, moderated=-1 if number == 5 else 1) for number, text in enumerate(GERMAN)]
    cast = votes_on_two_subjects()
    other = Votes(cast.participants, cast.comments, np.where(cast.comments == 5, 1, cast.choices).astype(np.int8), cast.times)
    one, two = (analyse_comments(comments, local_embeddings(), votes=lambda votes=votes: votes) for votes in (cast, other))  # type: ignore[misc]
    assert np.array_equal(one.vectors, two.vectors)

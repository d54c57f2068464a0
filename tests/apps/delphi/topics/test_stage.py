from functools import cache
from typing import Any

import numpy as np
import pytest

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.conversations.conversation import Comment
from gateleg.apps.delphi.conversations.synthetic import Synthetic, SyntheticPlan, synthesise
from gateleg.apps.delphi.topics.config import TopicsConfig
from gateleg.apps.delphi.topics.layers import find_layers
from gateleg.apps.delphi.topics.stage import Topics, analyse_comments
from tests.apps.delphi.real import needs_real_conversations, real_conversation
from tests.apps.delphi.texts import local_embeddings
from tests.apps.delphi.topics.test_names import Answers

QUICK = TopicsConfig(n_neighbors=10)


@cache
def _planted() -> tuple[Synthetic, Topics]:
    synthetic = synthesise(SyntheticPlan(participants=5, comments=90, topics=6, rejected=0.0, seed=4))
    return synthetic, analyse_comments(synthetic.conversation.comments, local_embeddings(), QUICK)


def test_planted_topics_are_found_in_texts() -> None:
    synthetic, topics = _planted()
    found = topics.layers.layers[topics.layers.steadiest].labels
    assert agreement(synthetic.topic_of[topics.comment_ids], found) >= 0.95


@pytest.mark.parametrize(("topics", "each"), [(6, 15), (6, 10), (2, 10)])
def test_topics_of_few_comments_are_found_in_texts(topics: int, each: int) -> None:
    for seed in (5, 14):
        planted = synthesise(SyntheticPlan(participants=5, comments=topics * each, topics=topics, seed=seed))
        found = find_layers(local_embeddings().embed([comment.body for comment in planted.conversation.comments]))
        assert agreement(planted.topic_of, found.layers[found.steadiest].labels) >= 0.95


def test_every_comment_belongs_to_a_topic_of_every_layer() -> None:
    synthetic, topics = _planted()
    kept = [comment.comment_id for comment in synthetic.conversation.comments if comment.moderated != -1]
    for layer in topics.topics:
        assert sorted(number for topic in layer for number in topic.comments) == kept


def test_fine_topics_lie_wholly_inside_coarse_ones() -> None:
    _, topics = _planted()
    assert len(topics.topics) > 1
    for layer in topics.topics[:-1]:
        for topic in layer:
            parent = topics.find(topic.parent or "")
            assert parent is not None
            assert set(topic.comments) <= set(parent.comments)
            assert topic.key in parent.children


def test_names_are_unique_and_examples_and_keywords_come_from_the_topic() -> None:
    synthetic, topics = _planted()
    bodies = {comment.comment_id: comment for comment in synthetic.conversation.comments}
    every = [topic for layer in topics.topics for topic in layer]
    assert len({topic.name.casefold() for topic in every}) == len(every)
    for topic in every:
        assert set(topic.examples) <= set(topic.comments)
        assert all(bodies[number].moderated != -1 for number in topic.examples)
        text = " ".join(bodies[number].body.lower() for number in topic.comments)
        assert all(word in text for keyword in topic.keywords for word in keyword.term.lower().split())


def test_shuffled_comments_give_the_same_topics() -> None:
    synthetic, topics = _planted()
    comments = list(synthetic.conversation.comments)
    shuffled = [comments[place] for place in np.random.default_rng(0).permutation(len(comments))]
    known = dict(zip(topics.comment_ids.tolist(), topics.vectors, strict=True))
    again = analyse_comments(shuffled, local_embeddings(), QUICK, known=known)
    assert again.topics == topics.topics
    assert np.array_equal(again.positions, topics.positions)
    assert again.edges == topics.edges


def test_topics_keep_their_identity_when_comments_come_in() -> None:
    synthetic, topics = _planted()
    known = dict(zip(topics.comment_ids.tolist(), topics.vectors, strict=True))
    fewer = analyse_comments(synthetic.conversation.comments[:75], local_embeddings(), QUICK, known=known)
    more = analyse_comments(synthetic.conversation.comments, local_embeddings(), QUICK, known=known, before=fewer.sketches())
    then, now = ({topic.identity for topic in found.topics[found.layers.steadiest]} for found in (fewer, more))
    assert len(then & now) >= 5


def test_a_new_comment_is_routed_to_the_topic_of_those_like_it() -> None:
    synthetic, topics = _planted()
    main = topics.layers.steadiest
    routed = [topics.route(vector) for vector in topics.vectors]
    assert all(path[layer].parent == path[layer + 1].key for path in routed for layer in range(len(path) - 1))
    assert agreement(synthetic.topic_of[topics.comment_ids], np.array([path[main].number for path in routed])) >= 0.9
    assert topics.route(np.zeros(topics.vectors.shape[1], dtype=np.float32)) == ()


@pytest.mark.parametrize(("name", "kept"), [("Late night buses", True), ("Bridgetry", False)])
def test_a_model_names_a_topic_if_the_name_means_what_the_topic_means(name: str, kept: bool) -> None:
    chat: Any = Answers(name)
    comments = [Comment(number, f"The night bus number {number} is always late") for number in range(4)]
    assert (analyse_comments(comments, local_embeddings(), QUICK, chat=chat).topics[0][0].name == name) is kept


def test_comments_in_other_scripts_have_topics_and_names() -> None:
    texts = ["الحافلة الليلية متأخرة دائما", "التذاكر غالية جدا", "האוטובוס מאחר", "夜间公交车总是晚点", "Автобус опаздывает", "🚌🚌🚌"]
    topics = analyse_comments([Comment(number, text) for number, text in enumerate(texts)], local_embeddings(), QUICK)
    assert [topic for layer in topics.topics for topic in layer if not topic.name.strip()] == []
    assert sorted(number for topic in topics.topics[0] for number in topic.comments) == list(range(6))


@pytest.mark.parametrize("texts", [[], [""], ["  ", "Only one says something"], ["the same"] * 4])
def test_empty_and_tiny_conversations_are_analysed(texts: list[str]) -> None:
    topics = analyse_comments([Comment(number, text) for number, text in enumerate(texts)], local_embeddings(), QUICK)
    said = [number for number, text in enumerate(texts) if text.strip()]
    assert [list(topic.comments) for layer in topics.topics for topic in layer] == ([said] if said else [])
    assert topics.positions.shape == (len(texts), 2)


def test_the_analysis_tells_its_steps_and_can_be_ended() -> None:
    steps: list[str] = []
    analyse_comments([Comment(1, "one")], local_embeddings(), report=lambda step, done: steps.append(step))
    assert list(dict.fromkeys(steps)) == ["embeddings", "layers", "map", "graph", "names"]

    def end(step: str, done: float) -> None:
        if step == "map":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analyse_comments([Comment(1, "one")], local_embeddings(), report=end)


@needs_real_conversations
def test_comments_of_a_real_conversation_have_topics_with_names() -> None:
    conversation = real_conversation("brexit-consensus")
    topics = analyse_comments(conversation.comments, local_embeddings(), QUICK)
    assert len(topics.topics[0]) > len(topics.topics[-1]) > 1
    covered = {number for topic in topics.topics[0] for number in topic.comments}
    assert len(covered) >= 0.9 * len(conversation.comments)
    assert any("referendum" in topic.name.lower() for layer in topics.topics for topic in layer)

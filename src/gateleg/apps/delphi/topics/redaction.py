"""Removes the words of rejected comments from topics. Pure.

A run of the comments stage applies the moderation of its start. Words of comments that were rejected later are in its keywords and names,
and are removed here before anything is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateleg.apps.delphi.topics.keywords import tokens
from gateleg.apps.delphi.topics.names import FROM_KEYWORDS, Naming, NamingInput, name_from_keywords

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.apps.delphi.topics.stage import Topic


def redact(layers: tuple[tuple[Topic, ...], ...], hidden: Iterable[str], shown: Iterable[str]) -> tuple[tuple[Topic, ...], ...]:
    """Remove words that occur only in hidden texts. A name with such a word is replaced by keywords."""
    secret = words_of(hidden)
    return without_words(layers, secret - words_of(shown) if secret else secret)


def without_words(layers: tuple[tuple[Topic, ...], ...], secret: frozenset[str]) -> tuple[tuple[Topic, ...], ...]:
    """Remove secret words from topics. A name with such a word is replaced by keywords."""
    if not secret:
        return layers
    taken = {topic.name.casefold() for layer in layers for topic in layer if not words_of([topic.name]) & secret}
    return tuple(tuple(_redact(topic, secret, taken) for topic in layer) for layer in layers)


def _redact(topic: Topic, secret: frozenset[str], taken: set[str]) -> Topic:
    keywords = tuple(keyword for keyword in topic.keywords if not words_of([keyword.term]) & secret)
    naming = topic.naming
    if words_of([naming.name]) & secret:
        naming = Naming(name_from_keywords(NamingInput([keyword.term for keyword in keywords], []), taken), FROM_KEYWORDS)
        taken.add(naming.name.casefold())
    return replace(topic, keywords=keywords, naming=naming)


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The normalized words of texts."""
    return frozenset(token.word for text in texts for clause in tokens(text) for token in clause)

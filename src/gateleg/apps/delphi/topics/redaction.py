"""Topics without the words of comments that are not shown.

A run of the comments stage knows what moderators had decided when it began. Comments that were rejected since have put their words into its
keywords and names; here they are taken out again before anything is shown. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateleg.apps.delphi.topics.keywords import tokens
from gateleg.apps.delphi.topics.naming import FROM_KEYWORDS, Naming, Unnamed, name_from_keywords

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.apps.delphi.topics.stage import Topic


def redacted(layers: tuple[tuple[Topic, ...], ...], hidden: Iterable[str], shown: Iterable[str]) -> tuple[tuple[Topic, ...], ...]:
    """The topics without words that occur in hidden texts and in no text that is shown; a name with such a word gives way to keywords."""
    secret = words_of(hidden)
    return without_words(layers, secret - words_of(shown) if secret else secret)


def without_words(layers: tuple[tuple[Topic, ...], ...], secret: frozenset[str]) -> tuple[tuple[Topic, ...], ...]:
    """The topics without some words; a name with such a word gives way to keywords."""
    if not secret:
        return layers
    taken = {topic.name.casefold() for layer in layers for topic in layer if not words_of([topic.name]) & secret}
    return tuple(tuple(_redacted(topic, secret, taken) for topic in layer) for layer in layers)


def _redacted(topic: Topic, secret: frozenset[str], taken: set[str]) -> Topic:
    keywords = tuple(keyword for keyword in topic.keywords if not words_of([keyword.term]) & secret)
    naming = topic.naming
    if words_of([naming.name]) & secret:
        naming = Naming(name_from_keywords(Unnamed([keyword.term for keyword in keywords], []), taken), FROM_KEYWORDS)
        taken.add(naming.name.casefold())
    return replace(topic, keywords=keywords, naming=naming)


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The words of texts, as they are compared."""
    return frozenset(token.word for text in texts for clause in tokens(text) for token in clause)

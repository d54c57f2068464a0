"""Renaming topics."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.service import results
from gateleg.apps.delphi.tables import EarlierName, TopicName
from gateleg.apps.delphi.topics.names import NameHistory, Naming

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.store import AsyncStore


async def rename_topic(store: AsyncStore, job_id: UUID, topic_key: str, name: str, by: str) -> TopicName:
    """Rename a topic of a run, and keep its earlier names. Raises `BadTopicName` if the name is invalid or another topic has it."""
    topics = {row.topic_key: row async for row in results(store, TopicName, job_id)}
    topic = topics.get(topic_key)
    if topic is None:
        raise RunMissing(f"Job {job_id} has no topic {topic_key!r}.", fix="Use the key of one of its topics.")
    now: datetime = store.setup.now().astimezone(UTC)
    taken = [other.topic_name for other in topics.values() if other.topic_key != topic_key]
    history = NameHistory((Naming(topic.topic_name, topic.model_name),)).rename(name, by, now, taken)
    if history.name == topic.topic_name:
        return topic
    past = EarlierName(topic_name=topic.topic_name, model_name=topic.model_name, until=now)
    return await store.patch(
        topic,
        TopicName.topic_name.set(history.name),
        TopicName.model_name.set(by),
        TopicName.earlier.append(past),
        # If two people rename it at the same time, the second gets an error.
        condition=TopicName.topic_name == topic.topic_name,
    )

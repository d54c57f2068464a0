"""The queue of a worker on an embedded engine, whose concurrent writes share commits."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.transports.group_commit import with_shared_commits

if TYPE_CHECKING:
    from gateleg.jobs.queue import AsyncQueue


def with_group_commit(queue: AsyncQueue) -> AsyncQueue:
    """A copy of the queue whose writes share commits; the queue itself if its store is remote."""
    transport = with_shared_commits(queue.store.transport)
    if transport is None or isinstance(queue.store, GroupCommitStore):
        return queue
    embedded = copy.copy(queue)
    embedded.store = GroupCommitStore(queue.store, transport)
    return embedded

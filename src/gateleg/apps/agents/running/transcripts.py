"""Read a thread as turns: its newest history with bounded reads, and the steps of one run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.apps.agents.running.history import CallRecord, Turn
from gateleg.apps.agents.running.ids import end_of_run, step_of
from gateleg.apps.agents.running.loop import Step, StoredCall
from gateleg.apps.agents.thread_tables import Message, ToolCall, ToolCallStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateleg.apps.agents.partitions import Partition
    from gateleg.store import AsyncStore

__all__ = ["Transcript", "read_newest", "read_run", "turns_of"]

#: Tool calls to read per message. If there are more, only the calls of the newest messages are included.
_CALLS_PER_MESSAGE = 4
_DENIED = "The user has denied this call."


@dataclass(frozen=True)
class Transcript:
    """The messages and tool calls of a run, oldest first."""

    messages: tuple[Message, ...]
    calls: tuple[ToolCall, ...]

    def steps(self, run_uuid: str, repeatable: Callable[[str], bool] = lambda name: False) -> list[Step]:
        """The model's replies with their tool calls."""
        found: dict[int, list[StoredCall]] = {}
        for message in self.messages:
            number = step_of(run_uuid, message.message_uuid)
            if number:
                found[number] = []
        for call in self.calls:
            number = step_of(run_uuid, call.tool_call_uuid)
            if number in found:
                found[number].append(StoredCall(call.tool_call_uuid, call.status, repeatable(call.name)))
        return [Step(number, tuple(calls)) for number, calls in sorted(found.items())]


async def read_run(store: AsyncStore, partition: Partition, thread_uuid: str, run_uuid: str) -> Transcript:
    """The messages and tool calls that a run has stored so far."""
    place = {"partition": partition, "thread_uuid": thread_uuid, "run_uuid": run_uuid}
    messages = [one async for one in store.query(Message.of_run(**place), consistent=True)]
    calls = [one async for one in store.query(ToolCall.of_run(**place), consistent=True)]
    return Transcript(tuple(messages), tuple(calls))


async def read_newest(store: AsyncStore, partition: Partition, thread_uuid: str, run_uuid: str, *, most: int) -> list[Turn]:
    """At most `most` turns of a thread up to the end of a run, newest first, with two queries for any length of thread.

    Questions queued after this run are left out.
    """
    end = end_of_run(run_uuid)
    said = Message.newest(partition=partition, thread_uuid=thread_uuid).where(Message.message_uuid < end)
    called = ToolCall.newest(partition=partition, thread_uuid=thread_uuid).where(ToolCall.tool_call_uuid < end)
    messages = [one async for one in store.query(said, consistent=True, limit=most)]
    calls = [one async for one in store.query(called, consistent=True, limit=most * _CALLS_PER_MESSAGE)]
    return turns_of(messages, calls)


def turns_of(messages: Sequence[Message], calls: Iterable[ToolCall]) -> list[Turn]:
    """Convert messages to turns in the given order, each with its calls in call order."""
    by_message: dict[str, list[ToolCall]] = {}
    for call in calls:
        by_message.setdefault(call.tool_call_uuid.rpartition("-")[0], []).append(call)
    return [_turn(message, sorted(by_message.get(message.message_uuid, ()), key=lambda call: call.tool_call_uuid)) for message in messages]


def _turn(message: Message, calls: Sequence[ToolCall]) -> Turn:
    turn = Turn(message.message_uuid, message.role, message.message)
    return replace(turn, calls=tuple(map(_record, calls))) if calls else turn


def _record(call: ToolCall) -> CallRecord:
    denied = call.status is ToolCallStatus.DENIED
    return CallRecord(
        call_id=call.tool_call_id or call.tool_call_uuid,
        name=call.name,
        arguments=call.arguments or "{}",
        result=f"{_DENIED} {call.notes or ''}".strip() if denied else call.content,
        failed=denied or call.status is ToolCallStatus.FAILED,
        signature=call.signature or "",
    )

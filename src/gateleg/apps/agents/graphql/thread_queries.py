"""Queries of conversations: threads, runs, messages, tool calls, tasks and fine-tuning messages."""

from datetime import datetime

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.enums import TaskStatus, TokenType, ToolCallStatus
from gateleg.apps.agents.graphql.fields import resolver_field, stored_arguments
from gateleg.apps.agents.graphql.item_lookup import find_own
from gateleg.apps.agents.graphql.listings import Listing, list_rows
from gateleg.apps.agents.graphql.thread_types import (
    AsyncTaskListType,
    AsyncTaskType,
    FineTuningMessageListType,
    FineTuningMessageType,
    MessageListType,
    MessageType,
    RunListType,
    RunType,
    ThreadListType,
    ThreadType,
    ToolCallListType,
    ToolCallType,
)
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.tasks import find_fine_tuning_message, list_async_tasks, list_fine_tuning_messages
from gateleg.apps.agents.thread_lists import list_messages, list_runs, list_threads, list_tool_calls
from gateleg.apps.agents.thread_tables import AsyncTask, FineTuningMessage, Message, Run, ToolCall


@strawberry.type
class ThreadQueries:
    """Queries of conversations. Members see their own, viewers and above all of the part."""

    @resolver_field(ThreadType | None)
    async def thread(self, info: Info, thread_uuid: str) -> Thread | None:
        """A thread; null if there is none that the caller may see."""
        return await find_own(info.context, Thread, thread_uuid=thread_uuid)

    @resolver_field(ThreadListType)
    async def thread_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        agent_uuid: str | None = UNSET,
        user_id: str | None = UNSET,
        created_at_gt: datetime | None = UNSET,
        created_at_lt: datetime | None = UNSET,
    ) -> Listing[Thread]:
        """Threads, latest activity first."""
        return await list_rows(info.context, list_threads, stored_arguments(locals()))

    @resolver_field(RunType | None)
    async def run(self, info: Info, thread_uuid: str, run_uuid: str) -> Run | None:
        """A run; null if there is none that the caller may see."""
        return await find_own(info.context, Run, thread_uuid=thread_uuid, run_uuid=run_uuid)

    @resolver_field(RunListType)
    async def run_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        thread_uuid: str | None = UNSET,
        run_id: str | None = UNSET,
        token_type: TokenType | None = UNSET,
        great_token: int | None = UNSET,
        less_token: int | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[Run]:
        """Runs, newest first. With `tokenType`, those with more tokens than `greatToken` and fewer than `lessToken`."""
        return await list_rows(info.context, list_runs, stored_arguments(locals()))

    @resolver_field(ToolCallType | None)
    async def tool_call(self, info: Info, thread_uuid: str, tool_call_uuid: str) -> ToolCall | None:
        """A tool call; null if there is none that the caller may see."""
        return await find_own(info.context, ToolCall, thread_uuid=thread_uuid, tool_call_uuid=tool_call_uuid)

    @resolver_field(ToolCallListType)
    async def tool_call_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        thread_uuid: str | None = UNSET,
        run_uuid: str | None = UNSET,
        tool_call_id: str | None = UNSET,
        tool_type: str | None = UNSET,
        name: str | None = UNSET,
        statues: list[ToolCallStatus | None] | None = UNSET,
        statuses: list[ToolCallStatus | None] | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[ToolCall]:
        """Tool calls, newest first. `statues` and `statuses` are the same."""
        return await list_rows(info.context, list_tool_calls, stored_arguments(locals()))

    @resolver_field(MessageType | None)
    async def message(self, info: Info, thread_uuid: str, message_uuid: str) -> Message | None:
        """A message; null if there is none that the caller may see."""
        return await find_own(info.context, Message, thread_uuid=thread_uuid, message_uuid=message_uuid)

    @resolver_field(MessageListType)
    async def message_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        thread_uuid: str | None = UNSET,
        run_uuid: str | None = UNSET,
        message_id: str | None = UNSET,
        roles: list[str | None] | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[Message]:
        """Messages, oldest first."""
        return await list_rows(info.context, list_messages, stored_arguments(locals()))

    @resolver_field(AsyncTaskType | None)
    async def async_task(self, info: Info, function_name: str, async_task_uuid: str) -> AsyncTask | None:
        """A task; null if there is none that the caller may see."""
        found = await find_own(info.context, AsyncTask, async_task_uuid=async_task_uuid)
        return found if found is not None and found.function_name == function_name else None

    @resolver_field(AsyncTaskListType)
    async def async_task_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        function_name: str | None = UNSET,
        statues: list[TaskStatus | None] | None = UNSET,
        statuses: list[TaskStatus | None] | None = UNSET,
    ) -> Listing[AsyncTask]:
        """Tasks, newest first. `statues` and `statuses` are the same."""
        return await list_rows(info.context, list_async_tasks, stored_arguments(locals()))

    @resolver_field(FineTuningMessageType | None)
    async def fine_tuning_message(self, info: Info, agent_uuid: str, message_uuid: str) -> FineTuningMessage | None:
        """A fine-tuning message, for editors; null if there is none."""
        return await find_fine_tuning_message(info.context.store, info.context.context, agent_uuid, message_uuid)

    @resolver_field(FineTuningMessageListType)
    async def fine_tuning_message_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        agent_uuid: str | None = UNSET,
        thread_uuid: str | None = UNSET,
        roles: list[str | None] | None = UNSET,
        trained: bool | None = UNSET,
        from_date: datetime | None = UNSET,
        to_date: datetime | None = UNSET,
    ) -> Listing[FineTuningMessage]:
        """Fine-tuning messages. `fromDate` and `toDate` are inclusive, and each works without the other."""
        return await list_rows(info.context, list_fine_tuning_messages, stored_arguments(locals()))

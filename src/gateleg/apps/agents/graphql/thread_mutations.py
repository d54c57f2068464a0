"""Mutations of conversations: threads, runs, messages, tool calls, tasks and fine-tuning messages."""

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.erasing.threads import delete_whole_thread
from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.enums import TaskStatus, ToolCallStatus
from gateleg.apps.agents.graphql.fields import (
    DeletePayload,
    SavePayload,
    delete_payload_type,
    resolver_field,
    save_payload_type,
    stored_arguments,
)
from gateleg.apps.agents.graphql.item_mutations import delete_by_ids, record_item
from gateleg.apps.agents.graphql.scalars import JSON
from gateleg.apps.agents.graphql.thread_types import AsyncTaskType, FineTuningMessageType, MessageType, RunType, ThreadType, ToolCallType
from gateleg.apps.agents.tasks import delete_async_task, delete_fine_tuning_message, save_async_task, save_fine_tuning_message
from gateleg.apps.agents.threads import (
    delete_message,
    delete_run,
    delete_thread,
    delete_tool_call,
    save_message,
    save_run,
    save_thread,
    save_tool_call,
)

InsertThread = save_payload_type("InsertThread", "thread", ThreadType)
DeleteThread = delete_payload_type("DeleteThread")
InsertUpdateRun = save_payload_type("InsertUpdateRun", "run", RunType)
DeleteRun = delete_payload_type("DeleteRun")
InsertUpdateMessage = save_payload_type("InsertUpdateMessage", "message", MessageType)
DeleteMessage = delete_payload_type("DeleteMessage")
InsertUpdateToolCall = save_payload_type("InsertUpdateToolCall", "toolCall", ToolCallType)
DeleteToolCall = delete_payload_type("DeleteToolCall")
InsertUpdateAsyncTask = save_payload_type("InsertUpdateAsyncTask", "asyncTask", AsyncTaskType)
DeleteAsyncTask = delete_payload_type("DeleteAsyncTask")
InsertUpdateFineTuningMessage = save_payload_type("InsertUpdateFineTuningMessage", "fineTuningMessage", FineTuningMessageType)
DeleteFineTuningMessage = delete_payload_type("DeleteFineTuningMessage")


@strawberry.type
class ThreadMutations:
    """Mutations of conversations. Members change their own, operators all of the part."""

    @resolver_field(InsertThread)
    async def insert_thread(
        self,
        info: Info,
        agent_uuid: str | None = UNSET,
        thread_uuid: str | None = UNSET,
        user_id: str | None = UNSET,
    ) -> SavePayload:
        """Create a thread with an agent. An existing `threadUuid` returns that thread unchanged."""
        return await record_item(info.context, save_thread, stored_arguments(locals(), clearing=False))

    @resolver_field(DeleteThread)
    async def delete_thread(self, info: Info, thread_uuid: str, with_contents: bool | None = UNSET) -> DeletePayload:
        """Delete a thread without runs, or with `withContents` also its runs, messages, tool calls and files."""
        if with_contents is not True:
            return await delete_by_ids(info.context, delete_thread, thread_uuid)
        call = info.context
        call.loaders.clear()
        try:
            job_id = await delete_whole_thread(call.resources, call.context, thread_uuid)
        except NotFoundInPartition as error:
            return DeletePayload(False, error.message)
        return DeletePayload(True, None if job_id is None else f"The job {job_id} deletes it.")

    @resolver_field(InsertUpdateRun)
    async def insert_update_run(
        self,
        info: Info,
        thread_uuid: str,
        completion_tokens: int | None = UNSET,
        prompt_tokens: int | None = UNSET,
        run_id: str | None = UNSET,
        run_uuid: str | None = UNSET,
        total_tokens: int | None = UNSET,
        updated_by: str | None = UNSET,
    ) -> SavePayload:
        """Record a run, or change one."""
        return await record_item(info.context, save_run, stored_arguments(locals(), clearing=False))

    @resolver_field(DeleteRun)
    async def delete_run(self, info: Info, run_uuid: str, thread_uuid: str) -> DeletePayload:
        """Delete a run, unless it has messages or tool calls."""
        return await delete_by_ids(info.context, delete_run, run_uuid, thread_uuid)

    @resolver_field(InsertUpdateMessage)
    async def insert_update_message(
        self,
        info: Info,
        thread_uuid: str,
        message: str | None = UNSET,
        message_id: str | None = UNSET,
        message_uuid: str | None = UNSET,
        role: str | None = UNSET,
        run_uuid: str | None = UNSET,
        updated_by: str | None = UNSET,
    ) -> SavePayload:
        """Record a message, or change one. New ones need `runUuid`, `role` and `message`."""
        return await record_item(info.context, save_message, stored_arguments(locals(), clearing=False))

    @resolver_field(DeleteMessage)
    async def delete_message(self, info: Info, message_uuid: str, thread_uuid: str) -> DeletePayload:
        """Delete a message."""
        return await delete_by_ids(info.context, delete_message, message_uuid, thread_uuid)

    @resolver_field(InsertUpdateToolCall)
    async def insert_update_tool_call(
        self,
        info: Info,
        thread_uuid: str,
        arguments: str | None = UNSET,
        content: str | None = UNSET,
        name: str | None = UNSET,
        notes: str | None = UNSET,
        run_uuid: str | None = UNSET,
        status: ToolCallStatus | None = UNSET,
        tool_call_id: str | None = UNSET,
        tool_call_uuid: str | None = UNSET,
        tool_type: str | None = UNSET,
        updated_by: str | None = UNSET,
    ) -> SavePayload:
        """Record a tool call, or change one."""
        return await record_item(info.context, save_tool_call, stored_arguments(locals(), clearing=False))

    @resolver_field(DeleteToolCall)
    async def delete_tool_call(self, info: Info, thread_uuid: str, tool_call_uuid: str) -> DeletePayload:
        """Delete a tool call."""
        return await delete_by_ids(info.context, delete_tool_call, thread_uuid, tool_call_uuid)

    @resolver_field(InsertUpdateAsyncTask)
    async def insert_update_async_task(
        self,
        info: Info,
        function_name: str,
        arguments: JSON | None = UNSET,
        async_task_uuid: str | None = UNSET,
        notes: str | None = UNSET,
        output_files: list[JSON | None] | None = UNSET,
        result: str | None = UNSET,
        status: TaskStatus | None = UNSET,
        task_type: str | None = UNSET,
        updated_by: str | None = UNSET,
    ) -> SavePayload:
        """Record a task, or change one."""
        return await record_item(info.context, save_async_task, stored_arguments(locals(), clearing=False))

    @resolver_field(DeleteAsyncTask)
    async def delete_async_task(self, info: Info, async_task_uuid: str, function_name: str) -> DeletePayload:
        """Delete a task."""
        return await delete_by_ids(info.context, delete_async_task, async_task_uuid, function_name)

    @resolver_field(InsertUpdateFineTuningMessage)
    async def insert_update_fine_tuning_message(
        self,
        info: Info,
        agent_uuid: str,
        message_uuid: str,
        content: str | None = UNSET,
        role: str | None = UNSET,
        thread_uuid: str | None = UNSET,
        timestamp: int | None = UNSET,
        tool_call_uuid: str | None = UNSET,
        tool_calls: list[JSON | None] | None = UNSET,
        trained: bool | None = UNSET,
        updated_by: str | None = UNSET,
        weight: int | None = UNSET,
    ) -> SavePayload:
        """Store a fine-tuning message, or change one."""
        return await record_item(info.context, save_fine_tuning_message, stored_arguments(locals(), clearing=False))

    @resolver_field(DeleteFineTuningMessage)
    async def delete_fine_tuning_message(self, info: Info, agent_uuid: str, message_uuid: str) -> DeletePayload:
        """Delete a fine-tuning message."""
        return await delete_by_ids(info.context, delete_fine_tuning_message, agent_uuid, message_uuid)

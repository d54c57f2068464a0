"""Tables of runs, messages, tool calls, async tasks and fine-tuning messages. Every key begins with the tenant's partition.

Runs, messages and tool calls are stored by tenant and thread, in the order of their time-ordered ids: the newest history of a thread is
one bounded query, which cannot contain items of another tenant.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import IDENTIFIER, MAX_NAME_LENGTH, MAX_TEXT_LENGTH, Thread, identifier, optional_identifier, own_identifier
from gateleg.model import GSI, LSI, Attr, Counter, Entity, Index, Key, Pattern, States, Table, Version, field, required, stamp, state


def thread_table(name: str, sort: str, *indexes: Index) -> Table:
    """Declare a table whose hash is partition and thread."""
    return Table(
        f"aace-{name}",
        hash="thread_key",
        range=sort,
        indexes=[
            *indexes,
            LSI("updated_at-index", range="updated_at"),
            GSI("partition-index", hash="partition_key", range=sort),
            GSI("owner-index", hash="owner_key", range=sort),
        ],
    )


runs = thread_table("runs", "run_uuid", GSI("deadline-index", hash="deadline_shard", range="deadline"))
messages = thread_table("messages", "message_uuid", LSI("run_uuid-index", range="run_key"))
tool_calls = thread_table("tool_calls", "tool_call_uuid", LSI("run_uuid-index", range="run_key"))
async_tasks = Table(
    "aace-async_tasks",
    hash="partition_key",
    range="async_task_uuid",
    indexes=[
        LSI("function_name-index", range="function_key"),
        LSI("owner-index", range="owner_key"),
        LSI("updated_at-index", range="updated_at"),
    ],
)
fine_tuning_messages = Table(
    "aace-fine_tuning_messages",
    hash="partition_key",
    range="agent_message",
    indexes=[LSI("thread_uuid-index", range="thread_uuid"), LSI("timestamp-index", range="timestamp")],
)
THREAD_TABLES = (runs, messages, tool_calls, async_tasks, fine_tuning_messages)


class RunStatus(States):
    """The states of a run. A failed or expired run can be retried."""

    QUEUED = state("queued", to=["running", "cancelled", "failed", "expired"])
    RUNNING = state("running", to=["completed", "failed", "requires_action", "cancelled", "expired", "queued"])
    REQUIRES_ACTION = state("requires_action", to=["queued", "running", "cancelled", "failed", "expired"])
    COMPLETED = state("completed")
    FAILED = state("failed", to=["queued"])
    CANCELLED = state("cancelled")
    EXPIRED = state("expired", to=["queued"])


class ToolCallStatus(States):
    """The states of a tool call. `requires_approval` waits for a person; `cancelled` ended with its run, without a result."""

    INITIAL = state("initial", to=["requires_approval", "in_progress", "completed", "failed", "denied", "cancelled"])
    REQUIRES_APPROVAL = state("requires_approval", to=["approved", "denied", "failed", "cancelled"])
    APPROVED = state("approved", to=["in_progress", "completed", "failed", "cancelled"])
    IN_PROGRESS = state("in_progress", to=["completed", "failed", "cancelled"])
    COMPLETED = state("completed")
    FAILED = state("failed", to=["in_progress"])
    DENIED = state("denied")
    CANCELLED = state("cancelled")


class TaskStatus(States):
    """The states of an asynchronous task."""

    INITIAL = state("initial", to=["in_progress", "completed", "failed"])
    IN_PROGRESS = state("in_progress", to=["completed", "failed", "initial"])
    COMPLETED = state("completed")
    FAILED = state("failed", to=["initial", "in_progress"])


class OwnedItem(Entity):
    """Attributes of every item that belongs to a user of a tenant."""

    partition: Attr[Partition] = required(name="partition_key")
    #: ours: the caller who started the thread or task (`Context.owner`)
    owner_id: Attr[str] = required(read_only=True)
    updated_by: Attr[str] = field("", max_length=MAX_NAME_LENGTH)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")


class ThreadItem(OwnedItem):
    """Attributes of every item of a thread."""

    thread_uuid: Attr[str] = identifier()

    of_thread = Pattern(title="The items of a thread, oldest first")
    newest = Pattern(title="The items of a thread, newest first", order="desc")
    by_update = Pattern("updated_at-index", title="The items of a thread, latest change first", order="desc")
    in_partition = Pattern("partition-index", title="The items of all threads of a tenant, newest first", order="desc")
    of_owner = Pattern("owner-index", title="The items of all threads of a user, newest first", order="desc")


class Run(ThreadItem, table=runs):
    """One question to an agent, and its processing until the answer."""

    run_uuid: Attr[str] = own_identifier()
    #: the provider's own id
    run_id: Attr[str | None] = field(None, max_length=500)
    completion_tokens: Attr[int] = field(0, ge=0)
    prompt_tokens: Attr[int] = field(0, ge=0)
    total_tokens: Attr[int] = field(0, ge=0)
    #: milliseconds
    time_spent: Attr[int | None] = field(None, ge=0)

    # The following attributes are ours.
    status: Attr[RunStatus] = field(RunStatus.QUEUED)
    agent_uuid: Attr[str | None] = optional_identifier()
    #: the agent version that was active when the run started
    agent_version_uuid: Attr[str | None] = optional_identifier()
    model: Attr[str | None] = field(None, max_length=MAX_NAME_LENGTH)
    #: US dollars, of all calls with a known price
    cost: Attr[Decimal | None] = field(None, ge=0)
    #: calls without a known price
    unpriced_calls: Attr[int] = field(0, ge=0)
    #: the code of the error that ended it
    error_code: Attr[str | None] = field(None, max_length=MAX_NAME_LENGTH)
    #: whether a reply was interrupted, so that token counts are estimates
    usage_estimated: Attr[bool] = field(False)
    error: Attr[str | None] = field(None, max_length=5_000)
    #: the pending decision of a suspended run
    required_action: Attr[dict[str, Any] | None] = field(None)
    #: why the answer was cut off: `length` or `filtered`
    finish: Attr[str | None] = field(None, max_length=MAX_NAME_LENGTH)
    #: the structured answer
    output: Attr[dict[str, Any] | None] = field(None)
    user_id: Attr[str | None] = field(None)
    connection_id: Attr[str | None] = field(None)
    idempotency_key: Attr[str | None] = field(None, max_length=MAX_NAME_LENGTH)
    #: the job that answers it, and earlier ones, whose frames come first; a queued run has none
    job_id: Attr[str | None] = field(None)
    earlier_job_ids: Attr[list[str]] = field(factory=list, max_length=100)
    #: who asked, with which rights, and how to answer (`RunRequest`)
    request: Attr[dict[str, Any] | None] = field(None)
    async_task_uuid: Attr[str | None] = optional_identifier()
    iterations: Attr[int] = field(0, ge=0)
    attempts: Attr[int] = field(0, ge=0)
    started_at: Attr[datetime | None] = field(None)
    finished_at: Attr[datetime | None] = field(None)
    deadline: Attr[datetime | None] = field(None)
    #: number of messages and tool calls; a run that has any can only be deleted together with them
    item_count: Attr[int] = field(0, ge=0)
    version: Attr[Version] = field(0)

    key = Key("{partition}#{thread_uuid}", "{run_uuid}")
    owner_index_key = Key("{partition}#{owner_id}", "{run_uuid}", index="owner-index")
    #: sparse index of open runs by deadline
    deadline_key = Key(
        "open",
        "{deadline}",
        index="deadline-index",
        when={"status": [RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.REQUIRES_ACTION]},
        shards=4,
    )
    counted = Counter(Thread.run_count)

    @property
    def known_cost(self) -> Decimal | None:
        """The cost of all calls; None if the price of one is not known."""
        return self.cost if self.unpriced_calls == 0 else None

    overdue = Pattern("deadline-index", title="Runs that have not ended, first to expire first")


class Message(ThreadItem, table=messages):
    """A message in a thread."""

    message_uuid: Attr[str] = own_identifier()
    run_uuid: Attr[str] = identifier()
    #: the provider's own id
    message_id: Attr[str | None] = field(None, max_length=500)
    role: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    message: Attr[str] = required(max_length=350_000)
    #: ours: attached files
    files: Attr[list[dict[str, Any]]] = field(factory=list, max_length=50)
    #: ours: the model's reasoning, if the provider returns it
    reasoning: Attr[str | None] = field(None, max_length=MAX_TEXT_LENGTH)

    key = Key("{partition}#{thread_uuid}", "{message_uuid}")
    run_index_key = Key("{partition}#{thread_uuid}", "{run_uuid}#{message_uuid}", index="run_uuid-index")
    owner_index_key = Key("{partition}#{owner_id}", "{message_uuid}", index="owner-index")
    counted = Counter(Run.item_count)
    of_run = Pattern("run_uuid-index", by=("partition", "thread_uuid", "run_uuid"), title="The messages of a run, oldest first")


class ToolCall(ThreadItem, table=tool_calls):
    """One tool call with its result."""

    tool_call_uuid: Attr[str] = own_identifier()
    run_uuid: Attr[str] = identifier()
    #: the provider's own id
    tool_call_id: Attr[str | None] = field(None, max_length=500)
    tool_type: Attr[str] = field("function", max_length=MAX_NAME_LENGTH)
    name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    #: JSON text
    arguments: Attr[str | None] = field(None, max_length=MAX_TEXT_LENGTH)
    content: Attr[str | None] = field(None, max_length=350_000)
    status: Attr[ToolCallStatus] = field(ToolCallStatus.INITIAL)
    notes: Attr[str | None] = field(None, max_length=5_000)
    #: milliseconds
    time_spent: Attr[int | None] = field(None, ge=0)
    #: ours: the provider's signature, which must be sent back with the call
    signature: Attr[str | None] = field(None, max_length=100_000)
    #: ours: who approved or denied it
    decided_by: Attr[str | None] = field(None, max_length=MAX_NAME_LENGTH)

    key = Key("{partition}#{thread_uuid}", "{tool_call_uuid}")
    run_index_key = Key("{partition}#{thread_uuid}", "{run_uuid}#{tool_call_uuid}", index="run_uuid-index")
    owner_index_key = Key("{partition}#{owner_id}", "{tool_call_uuid}", index="owner-index")
    counted = Counter(Run.item_count)
    of_run = Pattern("run_uuid-index", by=("partition", "thread_uuid", "run_uuid"), title="The tool calls of a run, oldest first")


class AsyncTask(OwnedItem, table=async_tasks):
    """Work that continues after its request was answered."""

    async_task_uuid: Attr[str] = own_identifier()
    function_name: Attr[str] = identifier()
    #: ours; the public engine accepts and drops it
    task_type: Attr[str | None] = field(None, max_length=MAX_NAME_LENGTH)
    arguments: Attr[dict[str, Any] | None] = field(None)
    result: Attr[str | None] = field(None, max_length=350_000)
    output_files: Attr[list[dict[str, Any]]] = field(factory=list, max_length=200)
    status: Attr[TaskStatus] = field(TaskStatus.INITIAL)
    notes: Attr[str | None] = field(None, max_length=5_000)
    #: milliseconds
    time_spent: Attr[int | None] = field(None, ge=0)

    key = Key("{partition}", "{async_task_uuid}")
    function_index_key = Key("{partition}", "{function_name}#{async_task_uuid}", index="function_name-index")
    owner_index_key = Key("{partition}", "{owner_id}#{async_task_uuid}", index="owner-index")
    in_partition = Pattern(title="The tasks of a tenant, newest first", order="desc")
    by_update = Pattern("updated_at-index", title="The tasks of a tenant, latest change first", order="desc")
    of_function = Pattern(
        "function_name-index", by=("partition", "function_name"), title="The tasks of a function, newest first", order="desc"
    )
    of_owner = Pattern("owner-index", by=("partition", "owner_id"), title="The tasks of a user, newest first", order="desc")


class FineTuningMessage(Entity, table=fine_tuning_messages):
    """A message for fine-tuning models."""

    partition: Attr[Partition] = required(name="partition_key")
    agent_uuid: Attr[str] = identifier()
    message_uuid: Attr[str] = identifier()
    thread_uuid: Attr[str] = identifier()
    #: seconds since 1970
    timestamp: Attr[int] = required(ge=0)
    role: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    tool_calls: Attr[list[dict[str, Any]]] = field(factory=list, max_length=200)
    tool_call_uuid: Attr[str | None] = field(None, max_length=500, pattern=IDENTIFIER)
    content: Attr[str | None] = field(None, max_length=350_000)
    weight: Attr[float] = field(0)
    trained: Attr[bool] = field(False)
    updated_by: Attr[str] = field("", max_length=MAX_NAME_LENGTH)
    updated_at: Attr[datetime] = stamp(on="write")

    key = Key("{partition}", "{agent_uuid}#{message_uuid}")
    in_partition = Pattern(title="The fine-tuning messages of a tenant, by agent")
    of_agent = Pattern(by=("partition", "agent_uuid"), title="The fine-tuning messages of an agent")
    of_thread = Pattern("thread_uuid-index", by=("partition", "thread_uuid"), title="The fine-tuning messages of a thread")
    by_time = Pattern("timestamp-index", title="The fine-tuning messages of a tenant, oldest first")


THREAD_ITEMS: tuple[type[ThreadItem], ...] = (Run, Message, ToolCall)

"""The job types of runs: names, configs and results."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tenancy import Context
from gateleg.host import Principal, Role

__all__ = ["ANSWER", "DEMONSTRATE", "QUEUE", "SUMMARISE", "SWEEP", "AnswerConfig", "AnswerResult", "DemonstrateConfig"]
__all__ += ["EVALUATE", "EvaluateConfig", "InputFile", "RunRequest", "StoredCaller", "SummariseConfig"]

ANSWER, SUMMARISE, SWEEP, DEMONSTRATE = "agents.answer", "agents.summarise", "agents.sweep", "agents.demonstrate"
EVALUATE = "agents.evaluate"
#: Answers have their own queue, so that long jobs of other applications do not delay them.
QUEUE = "agents"


class StoredCaller(BaseModel):
    """The caller's identity and rights at the time of the request. Tools run with exactly these rights."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    role: str
    groups: list[str] = []
    tenant: str | None = None
    key_id: str | None = None

    @classmethod
    def of(cls, principal: Principal) -> Self:
        """Capture a caller for storage."""
        return cls(
            name=principal.name,
            role=principal.role.name,
            groups=sorted(principal.groups),
            tenant=principal.tenant,
            key_id=principal.key_id,
        )

    @property
    def principal(self) -> Principal:
        """Restore the caller."""
        return Principal(self.name, Role[self.role], frozenset(self.groups), self.tenant, self.key_id)


class InputFile(BaseModel):
    """A file attached to a question, in the object store."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)

    object_key: str
    media_type: str
    name: str = ""


class RunRequest(BaseModel):
    """Who asked for a run and how to answer it. Stored with the run, and equal in all its jobs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asker: StoredCaller
    user_id: str
    connection_id: str | None = None
    #: whether the key or the request named a part
    part_given: bool = False
    #: the JSON schema of the answer
    output_schema: dict[str, Any] | None = None
    #: messages that replace the thread's history, in the format of `gateleg.ai.dump_messages`
    history: list[dict[str, Any]] | None = None
    #: model options that override the agent's configuration
    options: dict[str, Any] = {}
    #: time limit of the run
    seconds: int

    def context(self, partition: Partition) -> Context:
        """The context of the original request."""
        return Context(partition, self.asker.principal, self.user_id, self.connection_id, self.part_given)


class AnswerConfig(BaseModel):
    """The run to answer."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str
    part_id: str
    thread_uuid: str
    run_uuid: str

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return Partition(endpoint_id=self.endpoint_id, part_id=self.part_id)


class AnswerResult(BaseModel):
    """The run's status when its job ended."""

    run_uuid: str
    status: str


class SummariseConfig(BaseModel):
    """The thread to summarise, up to which message, and by which agent version."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str
    part_id: str
    thread_uuid: str
    agent_version_uuid: str
    #: the first message that is not summarised
    until: str
    #: who asked the question whose run left messages out
    request: RunRequest
    #: that run, which the cost is added to; jobs of earlier releases name none
    run_uuid: str = ""

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return Partition(endpoint_id=self.endpoint_id, part_id=self.part_id)


class DemonstrateConfig(BaseModel):
    """The questions for the demonstration agent, and the tool that must have data first."""

    model_config = ConfigDict(extra="forbid")

    agent_uuid: str
    tool: str
    questions: list[str]


class EvaluateConfig(BaseModel):
    """The evaluation to carry out, and the caller who requested it."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str
    part_id: str
    evaluation_uuid: str
    request: RunRequest

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return Partition(endpoint_id=self.endpoint_id, part_id=self.part_id)

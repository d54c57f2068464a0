"""The jobs of agents: their names, what they are asked for and what they answer."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from gateleg.apps.agents.tenancy import Context, Partition
from gateleg.web import Principal, Role

__all__ = ["ANSWER", "DEMONSTRATE", "QUEUE", "SUMMARISE", "SWEEP", "AnswerConfig", "AnswerResult", "Asker", "DemonstrateConfig"]
__all__ += ["EVALUATE", "EvaluateConfig", "InputFile", "RunRequest", "SummariseConfig"]

ANSWER, SUMMARISE, SWEEP, DEMONSTRATE = "agents.answer", "agents.summarise", "agents.sweep", "agents.demonstrate"
EVALUATE = "agents.evaluate"
#: Answers have a queue of their own, so that long jobs of other applications do not delay them.
QUEUE = "agents"


class Asker(BaseModel):
    """Who asks, as they were when they asked: tools are called with these rights and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    role: str
    groups: list[str] = []
    tenant: str | None = None
    key_id: str | None = None

    @classmethod
    def of(cls, principal: Principal) -> Self:
        """A caller, to be written down."""
        return cls(
            name=principal.name,
            role=principal.role.name,
            groups=sorted(principal.groups),
            tenant=principal.tenant,
            key_id=principal.key_id,
        )

    @property
    def principal(self) -> Principal:
        """The caller again."""
        return Principal(self.name, Role[self.role], frozenset(self.groups), self.tenant, self.key_id)


class InputFile(BaseModel):
    """A file that goes along with a question, in the object store."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)

    object_key: str
    media_type: str
    name: str = ""


class RunRequest(BaseModel):
    """Who asked for a run, and how it is to be answered. It is stored with the run, and the same in all jobs of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asker: Asker
    user_id: str
    connection_id: str | None = None
    #: whether the part was given, and is not the endpoint's own
    part_given: bool = False
    #: the JSON schema of the answer
    output_schema: dict[str, Any] | None = None
    #: messages in place of the thread's own history, as `gateleg.ai.dump_messages` writes them
    history: list[dict[str, Any]] | None = None
    #: options of the model, in place of those of the agent's configuration
    options: dict[str, Any] = {}
    #: seconds that the run may take
    seconds: int

    def context(self, partition: Partition) -> Context:
        """The context of the request that asked."""
        return Context(partition, self.asker.principal, self.user_id, self.connection_id, self.part_given)


class AnswerConfig(BaseModel):
    """Which run a job answers."""

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
    """How a run stands when its job ends."""

    run_uuid: str
    status: str


class SummariseConfig(BaseModel):
    """Which thread is summarised, up to where, and by which version of an agent."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str
    part_id: str
    thread_uuid: str
    agent_version_uuid: str
    #: the first message that is still shown to the model
    until: str
    #: that of the run which left messages out
    request: RunRequest

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return Partition(endpoint_id=self.endpoint_id, part_id=self.part_id)


class DemonstrateConfig(BaseModel):
    """Which questions an agent of the demonstration is asked, once a tool has something to answer."""

    model_config = ConfigDict(extra="forbid")

    agent_uuid: str
    tool: str
    questions: list[str]


class EvaluateConfig(BaseModel):
    """Which evaluation is made, and for whom."""

    model_config = ConfigDict(extra="forbid")

    endpoint_id: str
    part_id: str
    evaluation_uuid: str
    request: RunRequest

    @property
    def partition(self) -> Partition:
        """The tenant's partition."""
        return Partition(endpoint_id=self.endpoint_id, part_id=self.part_id)

"""`Question`: the request to ask an agent."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gateleg.apps.agents.running.job_types import InputFile
from gateleg.apps.agents.settings import Policy

__all__ = ["Question"]


class Question(BaseModel):
    """A request to ask an agent."""

    model_config = ConfigDict(extra="forbid")

    agent_uuid: str
    #: the agent version that answers; defaults to the thread's pinned version, then the active one
    agent_version_uuid: str | None = None
    user_query: str = Field(min_length=1, max_length=200_000)
    thread_uuid: str | None = None
    #: the end user; without a thread id, that user's most recent thread continues
    user_id: str | None = Field(default=None, max_length=128)
    input_files: list[InputFile] = Field(default=[], max_length=20)
    #: maximum minutes since its last activity for a thread to continue
    thread_life_minutes: int | None = Field(default=None, ge=0, le=525_600)
    updated_by: str = Field(default="", max_length=200)
    #: idempotency key: a repeated question with the same key is asked once
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)
    #: what to do while the thread answers another question
    policy: Policy | None = None
    #: the JSON schema of the answer
    output_schema: dict[str, Any] | None = None
    #: messages that replace the thread's history
    history: list[dict[str, Any]] | None = None
    #: model options for this question: temperature, max_tokens, seed
    options: dict[str, Any] = {}
    #: time limit of the run; defaults to the setting
    seconds: int | None = Field(default=None, ge=1, le=86_400)

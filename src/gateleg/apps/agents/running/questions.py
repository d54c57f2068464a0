"""`Ask`: a question to an agent, as callers give it."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gateleg.apps.agents.running.job_types import InputFile
from gateleg.apps.agents.settings import Policy

__all__ = ["Ask"]


class Ask(BaseModel):
    """A question to an agent."""

    model_config = ConfigDict(extra="forbid")

    agent_uuid: str
    #: the version that answers, instead of the active one or of that which the thread is pinned to
    agent_version_uuid: str | None = None
    user_query: str = Field(min_length=1, max_length=200_000)
    thread_uuid: str | None = None
    #: the end user; with it, and without a thread, the last thread of that user is continued
    user_id: str | None = Field(default=None, max_length=128)
    input_files: list[InputFile] = Field(default=[], max_length=20)
    #: minutes since its last activity within which a thread is continued
    thread_life_minutes: int | None = Field(default=None, ge=0, le=525_600)
    updated_by: str = Field(default="", max_length=200)
    #: the same question with the same key is asked once
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)
    #: what becomes of it while the thread answers another
    policy: Policy | None = None
    #: the JSON schema of the answer
    output_schema: dict[str, Any] | None = None
    #: messages in place of the thread's own history
    history: list[dict[str, Any]] | None = None
    #: options of the model for this question: temperature, max_tokens, seed
    options: dict[str, Any] = {}
    #: seconds that the run may take; as the settings have it, if left out
    seconds: int | None = Field(default=None, ge=1, le=86_400)

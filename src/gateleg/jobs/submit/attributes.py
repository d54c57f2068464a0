"""What a submission may say about its job: one list of attributes with one set of names, for every way to submit a job.

Python (`Submission`, `Task.submit`), the HTTP API, the command line, the console's forms and schedules accept the attributes of these
models, and the answers of the API name them alike. `tests/web/test_submission_attributes.py` compares them all.
"""

from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AliasChoices, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from gateleg.errors import problem_message
from gateleg.jobs.errors import BadSubmission
from gateleg.jobs.submit.submission import Submission
from gateleg.jobs.tables.job import MAX_DEPENDENCIES

__all__ = ["JobAttributes", "RunAttributes"]

Key = Annotated[str, Field(min_length=1, max_length=500)]
_LONGEST_WAIT = 366 * 86_400


class RunAttributes(BaseModel):
    """The attributes that every run of a schedule can have too. Empty ones have the defaults of the job type."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    queue: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(default=None, description="Instead of the job type's own.")
    priority: int | None = Field(default=None, ge=0, le=100, description="0 to 100, higher first.")
    subject: Key | None = Field(default=None, description="What the job is about: a conversation, a project.")
    max_retries: int | None = Field(default=None, ge=0, le=1000, description="The maximum number of retries after failures.")
    timeout_seconds: int | None = Field(
        default=None,
        title="Timeout",
        ge=1,
        le=31 * 86_400,
        validation_alias=AliasChoices("timeout_seconds", "timeout"),
        description="The maximum seconds of an attempt.",
    )
    start_within: float | None = Field(default=None, gt=0, le=_LONGEST_WAIT, description="Seconds after which it is no longer started.")
    concurrency_key: Key | None = Field(default=None, description="At most `concurrency_limit` jobs with this key run at once.")
    concurrency_limit: int = Field(default=1, ge=1, le=1000)
    tags: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default=[], max_length=50, description="Words to filter lists by, one per line."
    )

    @classmethod
    def read(cls, values: dict[str, Any]) -> Self:
        """The attributes of typed or parsed values. Raises `BadSubmission` for invalid ones."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            problems = "; ".join(f"{problem['loc'][0]}: {problem_message(problem)}" for problem in error.errors())
            raise BadSubmission(f"The submission is invalid: {problems}.") from None

    def submission(self, job_type: str, config: dict[str, Any] | None = None, *, created_by: str | None = None) -> Submission:
        """A submission with these attributes."""
        own = {name: getattr(self, name) for name in type(self).model_fields if name in ATTRIBUTES}
        return Submission(job_type, config, created_by=created_by, **own)


class JobAttributes(RunAttributes):
    """All attributes of a submission besides its job type, its config and its submitter."""

    job_id: UUID | None = Field(default=None, description="Chosen by the caller, so that jobs submitted together can depend on each other.")
    run_at: AwareDatetime | None = Field(default=None, description="Do not start it before this time.")
    delay: float | None = Field(default=None, ge=0, le=_LONGEST_WAIT, description="Seconds to wait before it may start.")
    start_by: AwareDatetime | None = Field(default=None, description="Do not start it after this time.")
    dependencies: list[UUID] = Field(
        default=[],
        max_length=MAX_DEPENDENCIES,
        validation_alias=AliasChoices("dependencies", "depends_on"),
        description="The ids of jobs that must be completed first, one per line.",
    )
    parent_job_id: UUID | None = Field(
        default=None, validation_alias=AliasChoices("parent_job_id", "parent"), description="The parent in the tree of jobs."
    )
    stage: Key | None = Field(
        default=None,
        validation_alias=AliasChoices("stage", "job_stage"),
        description="Its label in the tree, to distinguish children of the same type.",
    )
    idempotency_key: Key | None = Field(default=None, description="A second submission with this key returns the job of the first one.")
    unique_key: Key | None = Field(default=None, description="The same, but only while that job is waiting.")


#: The names of all attributes.
ATTRIBUTES = frozenset(JobAttributes.model_fields)
#: Those of the runs of a schedule.
RUN_ATTRIBUTES = frozenset(RunAttributes.model_fields)

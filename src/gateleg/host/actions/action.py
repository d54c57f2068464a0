"""`Action`: what somebody may do to a host, declared once and offered at every door.

    cancel_job = Action(name="job.cancel", role=Role.OPERATOR, input=CancelJob, run=..., ...)
    job = await perform(cancel_job, ActionCall(host, principal), CancelJob(job_id=...))

`perform` is the only way to run one: it checks who calls, runs the action, and writes the audit entry. The HTTP routes, the console's
buttons, the commands and the tools of agents are drawn from the same value, so that they cannot differ.

A `BulkAction` performs an action on many targets. Each target has its own audit entry, written before the next batch begins: what was
done is in the log, whatever stops the rest.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, Field

from gateleg.errors import GatelegError
from gateleg.host.errors import NotAllowed, Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from gateleg.host.application import AgentTool
    from gateleg.host.host import Host
    from gateleg.host.principal import Principal, Role

__all__ = ["Action", "ActionCall", "BulkAction", "BulkResult", "Nothing", "RefusedTarget", "StoppedHalfway", "perform", "perform_all"]

_log = logging.getLogger("gateleg.host")

G = TypeVar("G", bound=BaseModel)
R = TypeVar("R")

#: How many targets of a bulk are worked on at once.
_BATCH = 16


class Nothing(BaseModel):
    """The reply of an action that leaves nothing to show."""


@dataclass(frozen=True)
class ActionCall:
    """Somebody who performs an action, and the host on which they do."""

    host: Host
    principal: Principal
    #: the HTTP request, for the audit log
    request_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Action(Generic[G, R]):
    """Something that may be done to a host."""

    #: its name in the audit log: `job.cancel`
    name: str
    #: the caption of its button, and the beginning of its description: "Cancel"
    title: str
    #: what it does, in a sentence or two, for the API's documentation, the help of its command, and for agents
    help: str
    #: the least role of its callers
    role: Role
    #: what it needs to know, the target included
    input: type[G]
    run: Callable[[ActionCall, G], Awaitable[R]]
    #: the method and path of its route; each `{name}` is a field of the input, the other fields are the body
    http: str
    #: the words of its command after `gateleg`; the fields in its route's path are arguments, the others options. Empty for none. Actions
    #: that share a command are told apart by their `flag`, and a bulk by the missing argument
    command: str = ""
    flag: str = ""
    #: the field of its input that the header `If-Match` of its route has, instead of the body
    if_match: str = ""
    #: the field that its route has as the raw body, in chunks, and its command as a file; the other fields are in the query then
    raw_body: str = ""
    #: whether its result depends on the host's secret, so that a command must not act with a passing one
    needs_secret: bool = False
    #: the fields that select the targets of a bulk; its command needs one of them
    choices: Sequence[str] = ()
    #: whether it submits jobs: a command then loads the job types of the applications
    submits: bool = False
    #: whether its command is written by hand, because it takes more than the action
    hand_made: bool = False
    #: what was changed, for the audit log
    target: Callable[[G, R], str]
    #: what else the audit log keeps
    details: Callable[[G, R], Mapping[str, Any]] = lambda given, result: {}
    #: the result as the API, `--json` and agents get it
    reply: Callable[[R], BaseModel] = lambda result: Nothing()
    #: the model of the reply, for the API's documentation; None for a response without a body
    reply_type: type[BaseModel] | None = None
    #: the result in words
    done: Callable[[R], str] = lambda result: "Done"
    #: the path of what it makes, if it makes something; empty if that has no path of its own
    made: Callable[[R], str] | None = None
    #: whether it was made, or was there before
    created: Callable[[R], bool] = lambda result: True
    #: whether the result is worth an audit entry; a submission that found its job is not
    changed: Callable[[R], bool] = lambda result: True
    #: the question before it is done, in the console
    asks: str = ""
    #: whether something may be lost by it
    dangerous: bool = False
    #: who may, if the role alone does not say. Raises `NotAllowed`, or `Unknown` for what the caller may not know of
    permission: Callable[[ActionCall, G], Awaitable[None]] | None = None
    #: whether agents get it as a tool, if their caller has the role
    tool: bool = True
    #: its name in the audit log, if that depends on the input
    entry: Callable[[G], str] | None = None

    async def check(self, call: ActionCall, given: G) -> None:
        """Refuse callers who may not do it."""
        self.check_role(call.principal)
        if self.permission is not None:
            await self.permission(call, given)

    def check_role(self, principal: Principal) -> None:
        """Refuse callers without the role, as far as it decides. Doors do so before they read what was sent."""
        if self.permission is None and not principal.may(self.role):
            raise NotAllowed(f"This needs the role {self.role.word}; {principal.name!r} has {principal.role.word}.")

    def tool_of(self, host: Host) -> AgentTool:
        """The action as a tool of agents, with the rights of the person on whose behalf they call it."""
        from gateleg.host.application import AgentTool

        async def call(principal: Principal, given: G) -> BaseModel:
            return self.reply(await perform(self, ActionCall(host, principal), given))

        return AgentTool(self.name.replace(".", "_").replace("-", "_"), self.help, self.input, call, self.role)


async def perform(action: Action[G, R], call: ActionCall, given: G) -> R:
    """Do something on behalf of a caller, and write it to the audit log."""
    await action.check(call, given)
    result = await action.run(call, given)
    if action.changed(result):
        target, details = action.target(given, result), action.details(given, result)
        name = action.name if action.entry is None else action.entry(given)
        await call.host.audit.note(call.principal, name, target, request_id=call.request_id, **details)
    return result


@dataclass(frozen=True)
class RefusedTarget:
    """A target of a bulk on which the action was refused."""

    target: str
    error: GatelegError


@dataclass(frozen=True)
class BulkResult(Generic[R]):
    """What became of the targets of a bulk."""

    done: list[R] = field(default_factory=list)
    refused: list[RefusedTarget] = field(default_factory=list)

    def words(self, verb: str) -> str:
        """The result in words: `3 cancelled, 1 refused: The job ... is COMPLETED.`"""
        said = f"{len(self.done):,} {verb}"
        if not self.refused:
            return said
        return f"{said}, {len(self.refused):,} refused: {self.refused[0].error.message}"


class RefusedTargetReply(BaseModel):
    """A target on which the action was refused, with the reason."""

    target: str
    code: str
    message: str

    @classmethod
    def of(cls, refused: RefusedTarget) -> RefusedTargetReply:
        """The refusal as the API shows it."""
        return cls(target=refused.target, code=refused.error.code, message=refused.error.message)


class StoppedHalfway(Refusal):
    """A bulk that a failure has stopped. `details` name what was done and how much is left."""

    code = "stopped-halfway"
    fix = "What was done is in `done` and in the audit log. Repeat the rest when the cause is gone; what was done is not done twice."

    def __init__(self, verb: str, done: Sequence[str], left: int, cause: Exception) -> None:
        # Messages of disks and services contain folders, addresses and accounts, which belong in the log only.
        reason = (
            (type(cause).__doc__ or "").partition("\n")[0] if isinstance(cause, GatelegError) else "The log of the host has the reason."
        )
        super().__init__(
            f"{len(done):,} of {len(done) + left:,} {verb}, then it failed. {reason}",
            details={"done": list(done), "left": left, "cause": cause.code if isinstance(cause, GatelegError) else "internal"},
        )
        self.status = max(500, getattr(cause, "status", 500))


async def perform_all(
    action: Action[G, R], call: ActionCall, targets: Sequence[G], *, verb: str, name: Callable[[G], str]
) -> BulkResult[R]:
    """Do something to each target. One that is refused does not stop the others; a failure does, with `StoppedHalfway`.

    `verb` says what was done ("cancelled"), `name` what a target is called.
    """
    result: BulkResult[R] = BulkResult()
    done: list[str] = []
    for start in range(0, len(targets), _BATCH):
        batch = targets[start : start + _BATCH]
        outcomes = await asyncio.gather(*(perform(action, call, target) for target in batch), return_exceptions=True)
        failure: Exception | None = None
        for target, outcome in zip(batch, outcomes, strict=True):
            if not isinstance(outcome, BaseException):
                result.done.append(outcome)
                done.append(name(target))
            elif isinstance(outcome, GatelegError) and outcome.status < 500:
                result.refused.append(RefusedTarget(name(target), outcome))
            elif isinstance(outcome, Exception):
                failure = failure or outcome
            else:
                raise outcome
        if failure is not None:
            _log.error("a bulk of %s stopped half-way", action.name, exc_info=failure)
            raise StoppedHalfway(verb, done, len(targets) - len(done) - len(result.refused), failure) from failure
    return result


class BulkReply(BaseModel):
    """What became of the targets of a bulk."""

    refused: list[RefusedTargetReply] = Field(default=[], description="Targets on which it was refused, with the reason.")


@dataclass(frozen=True, kw_only=True)
class BulkAction(Generic[G]):
    """An action on many targets: those that are named, or all that a filter selects."""

    of: Action[Any, Any]
    title: str
    help: str
    #: names the targets, or selects them
    input: type[G]
    select: Callable[[ActionCall, G], Awaitable[Sequence[Any]]]
    http: str
    command: str = ""
    #: "cancelled"
    verb: str
    #: what a target is called
    name_of: Callable[[Any], str]
    #: the fields of the input that select targets; its command needs one of them
    choices: Sequence[str]
    reply: Callable[[BulkResult[Any]], BaseModel]
    reply_type: type[BaseModel]
    asks: str = ""

    @property
    def action(self) -> Action[G, BulkResult[Any]]:
        """The bulk as an action of its own, whose audit entries are those of its targets."""
        return Action(
            name=f"{self.of.name}-many",
            title=self.title,
            help=self.help,
            role=self.of.role,
            input=self.input,
            run=self._run,
            http=self.http,
            command=self.command,
            choices=self.choices,
            target=lambda given, result: "",
            # Each target has an entry of its own.
            changed=lambda result: False,
            reply=self.reply,
            reply_type=self.reply_type,
            done=lambda result: result.words(self.verb),
            asks=self.asks,
            dangerous=self.of.dangerous,
            permission=self.of.permission and self._each_checks_itself,
            tool=self.of.tool,
        )

    async def _run(self, call: ActionCall, given: G) -> BulkResult[Any]:
        return await perform_all(self.of, call, await self.select(call, given), verb=self.verb, name=self.name_of)

    async def _each_checks_itself(self, call: ActionCall, given: G) -> None:
        """Callers without the role are checked for each target."""

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
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, Field

from gateleg.errors import GatelegError
from gateleg.host.errors import NotAllowed, Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from gateleg.host.application import AgentTool, OfferedTool
    from gateleg.host.host import Host
    from gateleg.host.principal import Principal, Role

__all__ = [
    "Action",
    "ActionCall",
    "BulkAction",
    "BulkResult",
    "Nothing",
    "RefusedTarget",
    "ShownOnce",
    "StoppedHalfway",
    "perform",
    "perform_all",
]

_log = logging.getLogger("gateleg.host")

G = TypeVar("G", bound=BaseModel)
R = TypeVar("R")

#: What cannot be in the name of a tool.
_NO_WORD = re.compile(r"\W")
#: How many targets of a bulk are worked on at once.
_BATCH = 16


class Nothing(BaseModel):
    """The reply of an action that leaves nothing to show."""


@dataclass(frozen=True)
class ShownOnce:
    """A part of a result that is shown to whoever asked for it, once: the token of a new key."""

    title: str
    #: what to do with it
    note: str
    value: str = field(repr=False)


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
    #: the fields that its route takes in its query instead
    query: Sequence[str] = ()
    #: the words of its command after `gateleg`; the fields in its route's path are arguments, the others options. Empty for none. Actions
    #: that share a command are told apart by their `flag`, and a bulk by the missing argument
    command: str = ""
    #: the fields that its command takes as arguments, if they are not those in the path
    arguments: Sequence[str] | None = None
    #: whether its command may be the first to use a store
    creates_store: bool = False
    #: whether it encrypts something with the host's secret, which its command then makes if there is none
    seals: bool = False
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
    #: of an action on many targets: the name of the action whose entry each of them has. It has none itself
    each: str = ""
    #: the result as the API, `--json` and agents get it
    reply: Callable[[R], BaseModel] = lambda result: Nothing()
    #: the model of the reply, for the API's documentation; None for a response without a body
    reply_type: type[BaseModel] | None = None
    #: the result in words
    done: Callable[[R], str] = lambda result: "Done"
    #: what nobody can read again afterwards. It is in the reply, and neither in `done` nor in the audit log
    once: Callable[[R], ShownOnce | None] = lambda result: None
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
    #: the same, if the path and the query of its route say enough; routes ask before they read the body
    admits: Callable[[ActionCall, G], object] | None = None
    #: who else may, in words
    also: str = ""
    #: whether agents get it as a tool, if their caller has the role
    tool: bool = True
    #: its name in the audit log, if that depends on the input
    entry: Callable[[G], str] | None = None

    async def check(self, call: ActionCall, given: G) -> None:
        """Refuse callers who may not do it."""
        self.check_early(call, given)
        if self.permission is not None:
            await self.permission(call, given)

    def check_early(self, call: ActionCall, place: G) -> None:
        """Refuse callers, as far as their role and the place decide: the fields in the path and the query of the route.

        Routes do so before they read the body.
        """
        principal = call.principal
        if self.admits is not None:
            self.admits(call, place)
        elif self.permission is None and not principal.may(self.role):
            raise NotAllowed(f"This needs the role {self.role.word}; {principal.name!r} has {principal.role.word}.")

    def tool_of(self, host: Host) -> AgentTool:
        """The action as a tool of agents, with the rights of the person on whose behalf they call it."""
        from gateleg.host.application import AgentTool

        async def call(principal: Principal, given: G) -> BaseModel:
            return self.reply(await perform(self, ActionCall(host, principal), given))

        return AgentTool(_NO_WORD.sub("_", self.name), self.help, self.input, call, self.role)

    def offered_by(self, host: Host, application: str) -> OfferedTool:
        """The tool under the name by which models call it: `gateleg.job_cancel`, or `music.play` for an action `music.play` of music."""
        from gateleg.host.application import OfferedTool

        tool = self.tool_of(host)
        tool = replace(tool, name=tool.name.removeprefix(f"{_NO_WORD.sub('_', application)}_"))
        return OfferedTool(f"{application}.{tool.name}", application, tool)


async def perform(action: Action[G, R], call: ActionCall, given: G) -> R:
    """Do something on behalf of a caller, and write it to the audit log."""
    await action.check(call, given)
    result = await action.run(call, given)
    if not action.each and action.changed(result):
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
            each=self.of.name,
            reply=self.reply,
            reply_type=self.reply_type,
            done=lambda result: result.words(self.verb),
            asks=self.asks,
            dangerous=self.of.dangerous,
            permission=self.of.permission and self._each_checks_itself,
            admits=self.of.admits,
            also=self.of.also,
            tool=self.of.tool,
        )

    async def _run(self, call: ActionCall, given: G) -> BulkResult[Any]:
        return await perform_all(self.of, call, await self.select(call, given), verb=self.verb, name=self.name_of)

    async def _each_checks_itself(self, call: ActionCall, given: G) -> None:
        """Callers without the role are checked for each target."""

"""What can go wrong while agents run: one class for each kind of failure."""

from __future__ import annotations

from gateleg.apps.agents.errors import AgentsError

__all__ = [
    "BadCompletion",
    "BadConfiguration",
    "BadHandlerClass",
    "BadOutputSchema",
    "CallsUndecided",
    "HandlerNotAllowed",
    "IdempotencyKeyReused",
    "McpFailed",
    "NotWaiting",
    "OtherAgent",
    "RunEnded",
    "RunInProgress",
    "RunningError",
    "ThreadNotYours",
    "TooManyWaiting",
]


class RunningError(AgentsError):
    """Something that running an agent refuses, or could not do."""

    code = "agent-run"
    status = 422


class BadConfiguration(RunningError):
    """The configuration of an agent that its handler cannot use."""

    code = "bad-agent-configuration"
    fix = "Correct the configuration of the agent."


class HandlerNotAllowed(RunningError):
    """An agent whose model has a handler that is not installed, or that the host does not allow."""

    code = "handler-not-allowed"
    fix = "Choose another llm for the agent, or allow the handler in [agents] of the host's settings."


class BadHandlerClass(RunningError):
    """An entry point of handlers that does not name a handler."""

    code = "bad-handler-class"
    status = 500
    fix = "Derive the class from gateleg.apps.agents.running.AgentHandler."


class RunInProgress(RunningError):
    """A message for a thread that still answers the one before, where the policy is to reject it."""

    code = "run-in-progress"
    status = 409
    fix = "Wait for the run to end, cancel it, or ask with the policy enqueue or interrupt."


class TooManyWaiting(RunningError):
    """A message for a thread in which too many wait already."""

    code = "too-many-waiting"
    status = 429
    fix = "Wait for the runs before it, or cancel some."


class BadCompletion(RunningError):
    """A request for a completion that an agent cannot answer."""

    code = "bad-completion-request"
    status = 400
    fix = "See docs/how-to/agents-running.md for what is taken."


class BadOutputSchema(RunningError):
    """The schema of an answer that is not a JSON schema of an object."""

    code = "bad-output-schema"
    fix = "Give a JSON schema whose type is object."


class ThreadNotYours(RunningError):
    """Somebody who may see a thread of another user, and cannot ask in it: the answer would use their rights for the other."""

    code = "thread-not-yours"
    status = 403
    fix = "Begin a thread of your own: leave thread_uuid out."


class OtherAgent(RunningError):
    """A thread that belongs to another agent than the one that is asked."""

    code = "other-agent"
    status = 409
    fix = "Ask the agent of the thread, or leave thread_uuid out."


class RunEnded(RunningError):
    """A run that has ended, and so cannot be cancelled or go on."""

    code = "run-ended"
    status = 409
    fix = "Ask again, or retry the run if it has failed."


class NotWaiting(RunningError):
    """A decision about a tool call that does not wait for one."""

    code = "tool-call-not-waiting"
    status = 409
    fix = "Read the run again: the call may have been decided already, or the run may have ended."


class CallsUndecided(RunningError):
    """A decision that names a tool call which the run does not have."""

    code = "tool-call-unknown"
    status = 404
    fix = "Name a tool call of this run that waits for a decision."


class IdempotencyKeyReused(RunningError):
    """An idempotency key that came with another question before."""

    code = "idempotency-key-reused"
    status = 409
    fix = "Give every question a key of its own; repeat a key only with the same question."


class McpFailed(RunningError):
    """A tool server that could not be reached, or did not answer as the Model Context Protocol has it."""

    code = "mcp-failed"
    status = 502
    fix = "Check the address and the headers of the MCP server."

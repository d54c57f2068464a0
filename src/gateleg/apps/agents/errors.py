"""Errors of the agent engine: one class per kind of failure, with a code, an HTTP status and a fix."""

from __future__ import annotations

from gateleg.host.errors import Refusal


class AgentsError(Refusal):
    """Base class of the agent engine's errors."""

    status = 422


class BadPartition(AgentsError):
    """An endpoint_id or part_id cannot be part of a partition key."""

    status = 400
    fix = "Use 1 to 128 visible characters in Unicode's composed form (NFC), without `#` and without spaces at the ends."


class ForeignPart(AgentsError):
    """The request names an endpoint or part that the caller's key does not belong to."""

    status = 403
    fix = "Omit X-Part-ID and part_id, or use a key of that tenant. Operators without a tenant may name any part."


class NotFoundInPartition(AgentsError):
    """The tenant has no item with this id, or the caller may not see it."""

    status = 404
    fix = "Check the id; the lists show all ids."


class UnknownReference(AgentsError):
    """The item to be stored refers to an item that does not exist."""

    fix = "Create the missing item first, or omit the reference."


class AlreadyThere(AgentsError):
    """An item with this id already exists."""

    status = 409
    fix = "Omit the id to have one generated."


class StillUsed(AgentsError):
    """The item to be deleted is still referred to by others."""

    status = 409
    fix = "Delete the items that refer to it, or change their reference."


class BusyThread(AgentsError):
    """The thread to be deleted keeps receiving new questions."""

    status = 409
    fix = "Stop asking in the thread, and delete it again."


class TenantStillWrites(AgentsError):
    """New data of the tenant was written while its data was being erased."""

    status = 409
    fix = "Revoke the tenant's keys, then erase again: the job continues with what is left."


class ActiveVersion(AgentsError):
    """The active version cannot be deactivated, because exactly one version is always active."""

    status = 409
    fix = "Activate another version, or delete this one: the newest remaining version then becomes active."


class BusyVersions(AgentsError):
    """Too many writers changed the same item at once."""

    status = 409
    fix = "Try again."


class MissingField(AgentsError):
    """A required attribute is missing."""

    fix = "Supply every attribute named in the message."


class BadField(AgentsError):
    """An attribute has an invalid value."""

    fix = "Correct the attributes named in the message."


class TooManyAtOnce(AgentsError):
    """The change needs more writes than one transaction allows."""

    fix = "Save fewer items at once: a transaction writes at most 100."


class NotAnEditor(AgentsError):
    """The caller may use the tenant's agents, but not change them."""

    status = 403
    fix = "Use a key of the group named by `editors` in the section [agents] of the settings."


class NotYours(AgentsError):
    """The item belongs to another user; the caller may see it, but not change it."""

    status = 403
    fix = "Ask its owner or an operator."


class NotACatalogueEditor(AgentsError):
    """Only operators of the host may change the catalogue, which all tenants share."""

    status = 403
    fix = "Ask an operator or an admin of the host."


class NotAHostOperator(AgentsError):
    """Only operators of the host may list, export and erase tenants."""

    status = 403
    fix = "Use the key of an operator or an admin that has no tenant."


class BadWizard(AgentsError):
    """A wizard does not match its schema, or answers do not match its elements."""

    fix = "Correct the attributes named in `details`."


class BadTemplate(AgentsError):
    """A prompt or flow cannot be rendered."""

    fix = "Correct the template; placeholders are {names} of letters, digits and underscores, and {{name}} renders as {name}."


class MissingVariables(AgentsError):
    """Variables of a prompt have no value."""

    fix = "Supply a value, or a default in the template, for each variable named in the message."


class BadVariable(AgentsError):
    """The value of a variable does not have the declared type."""

    fix = "Supply a value of the declared type."


class BadQuery(AgentsError):
    """A GraphQL document or its variables do not match the schema."""

    status = 400
    fix = "Correct the document; the page at /graphql shows the schema."


class QueryTooDeep(AgentsError):
    """A GraphQL operation is nested too deeply."""

    fix = "Request the inner fields in a second query."


class TooManyAliases(AgentsError):
    """A GraphQL operation has too many aliases."""

    fix = "Send several requests."


class QueryTooComplex(AgentsError):
    """A GraphQL operation would resolve too many fields."""

    fix = "Lower `limit`, or select fewer fields."


class RunningError(AgentsError):
    """Base class of errors that occur when an agent runs."""

    code = "agent-run"
    status = 422


class BadConfiguration(RunningError):
    """The handler cannot use the agent's configuration."""

    code = "bad-agent-configuration"
    fix = "Correct the configuration of the agent."


class HandlerNotAllowed(RunningError):
    """The handler of the agent's model is not installed, or the host does not allow it."""

    fix = "Choose another model for the agent, or allow the handler in [agents] of the host's settings."


class BadHandlerClass(RunningError):
    """An entry point does not name a handler class."""

    status = 500
    fix = "Derive the class from gateleg.apps.agents.running.AgentHandler."


class RunInProgress(RunningError):
    """The thread is still answering another question, and the policy is `reject`."""

    status = 409
    fix = "Wait for the run to end, cancel it, or ask with the policy enqueue or interrupt."


class TooManyWaiting(RunningError):
    """Too many questions are queued in the thread."""

    status = 429
    fix = "Wait for the queued runs, or cancel some."


class BadCompletion(RunningError):
    """An agent cannot answer this chat completion request."""

    code = "bad-completion-request"
    status = 400
    fix = "docs/how-to/agents-running.md lists the supported fields."


class BadOutputSchema(RunningError):
    """The output schema is not a JSON schema of an object."""

    fix = "Supply a JSON schema of type object."


class ThreadNotYours(RunningError):
    """The thread belongs to another user. Asking in it would use the caller's rights for that user."""

    status = 403
    fix = "Omit thread_uuid to start a thread of your own."


class OtherAgent(RunningError):
    """The thread belongs to another agent."""

    status = 409
    fix = "Ask the agent of the thread, or omit thread_uuid."


class RunEnded(RunningError):
    """The run has already ended."""

    status = 409
    fix = "Ask again, or retry the run if it has failed."


class NotWaiting(RunningError):
    """The tool call is not waiting for approval."""

    code = "tool-call-not-waiting"
    status = 409
    fix = "Read the run again: the call may have been decided already, or the run may have ended."


class CallsUndecided(RunningError):
    """The run has no such tool call."""

    code = "tool-call-unknown"
    status = 404
    fix = "Name a tool call of this run that waits for approval."


class IdempotencyKeyReused(RunningError):
    """The idempotency key was already used for another question."""

    status = 409
    fix = "Use a new key for every question; repeat a key only with the same question."


class McpFailed(RunningError):
    """An MCP server is unreachable, or violates the Model Context Protocol."""

    status = 502
    fix = "Check the address and the headers of the MCP server."

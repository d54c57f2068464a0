"""What the agent engine refuses: one class for each kind of failure, with a code, a status, what happened and what to do."""

from __future__ import annotations

from gateleg.web.errors import Refusal


class AgentsError(Refusal):
    """Something that the agent engine refuses."""

    code = "agents"
    status = 422


class BadPartition(AgentsError):
    """An endpoint_id or a part_id that cannot be part of a partition key."""

    code = "bad-partition"
    status = 400
    fix = "Use 1 to 128 visible characters in Unicode's composed form (NFC), without `#` and without spaces at the ends."


class ForeignPart(AgentsError):
    """A caller named an endpoint or a part that their key does not belong to."""

    code = "foreign-part"
    status = 403
    fix = "Leave X-Part-ID and part_id out, or use a key of that tenant. Operators without a tenant may name any part."


class NotFoundInPartition(AgentsError):
    """The tenant has nothing with this id, or the caller may not see it."""

    code = "not-found-in-partition"
    status = 404
    fix = "Check the id; lists show what there is."


class UnknownReference(AgentsError):
    """Something that is to be stored names another thing that does not exist."""

    code = "unknown-reference"
    fix = "Create what it names first, or leave the reference out."


class AlreadyThere(AgentsError):
    """Something new has the id of something that exists."""

    code = "already-there"
    status = 409
    fix = "Leave the id out: a new one is given."


class StillUsed(AgentsError):
    """Something that is to be deleted is named by others."""

    code = "still-used"
    status = 409
    fix = "Delete what names it, or let that name something else."


class BusyThread(AgentsError):
    """A thread that is to be deleted gets new questions all the time."""

    code = "busy-thread"
    status = 409
    fix = "Stop asking in the thread, and delete it again."


class TenantStillWrites(AgentsError):
    """Data of a tenant was erased, and new data came while that was done."""

    code = "tenant-still-writes"
    status = 409
    fix = "Revoke the tenant's keys, then erase again: it goes on with what is left."


class ActiveVersion(AgentsError):
    """A version cannot be made inactive by itself: exactly one version is active."""

    code = "active-version"
    status = 409
    fix = "Make another version active, or delete this one: the newest of the others then becomes active."


class BusyVersions(AgentsError):
    """Many writers change the same thing at the same moment."""

    code = "busy-versions"
    status = 409
    fix = "Try again."


class MissingField(AgentsError):
    """Something new lacks an attribute that it needs."""

    code = "missing-field"
    fix = "Give every attribute that the message names."


class BadField(AgentsError):
    """An attribute has a value that it cannot have."""

    code = "bad-field"
    fix = "Correct the attributes that the message names."


class TooManyAtOnce(AgentsError):
    """A change needs more writes than one transaction has room for."""

    code = "too-many-at-once"
    fix = "A transaction writes at most 100 items: save fewer things at once."


class NotAnEditor(AgentsError):
    """The caller may use what the tenant has, and not change it."""

    code = "not-an-editor"
    status = 403
    fix = "Ask for a key of the group that `editors` in the section [agents] of the settings names."


class NotYours(AgentsError):
    """Something belongs to another user, and the caller may only look at it."""

    code = "not-yours"
    status = 403
    fix = "Ask its owner or an operator."


class NotACatalogueEditor(AgentsError):
    """The catalogue of models, components and schemas is shared by all tenants."""

    code = "not-a-catalogue-editor"
    status = 403
    fix = "Ask an operator or an admin of the host."


class NotAHostOperator(AgentsError):
    """Lists of tenants, exports and erasures are for those who run the host."""

    code = "not-a-host-operator"
    status = 403
    fix = "Use the key of an operator or an admin that has no tenant."


class BadWizard(AgentsError):
    """A wizard that does not match its schema, or answers that do not match its elements."""

    code = "bad-wizard"
    fix = "Correct the attributes that `details` names."


class BadTemplate(AgentsError):
    """A prompt or a flow that cannot be rendered."""

    code = "bad-template"
    fix = "Correct the template; placeholders are {names} of letters, digits and underscores, and {{ and }} stand for braces."


class MissingVariables(AgentsError):
    """A prompt has variables without a value."""

    code = "missing-variables"
    fix = "Give a value, or a default in the template, for each variable that the message names."


class BadVariable(AgentsError):
    """A variable's value is not of its declared type."""

    code = "bad-variable"
    fix = "Give a value of the declared type."


class BadQuery(AgentsError):
    """A GraphQL document or its variables do not fit the schema."""

    code = "bad-query"
    status = 400
    fix = "Correct the document; the page at /graphql shows the schema."


class QueryTooDeep(AgentsError):
    """A GraphQL operation nests its fields too deeply."""

    code = "query-too-deep"
    fix = "Ask for the inner parts in a second query."


class TooManyAliases(AgentsError):
    """A GraphQL operation has too many aliases."""

    code = "too-many-aliases"
    fix = "Send several requests."


class QueryTooComplex(AgentsError):
    """A GraphQL operation would resolve too many fields."""

    code = "query-too-complex"
    fix = "Lower `limit`, or select fewer fields."


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

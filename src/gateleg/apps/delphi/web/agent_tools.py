"""Tools with which agents look up conversations, groups and common ground, with the rights of the principal on whose behalf they act."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from gateleg.apps.delphi import rules, service
from gateleg.apps.delphi.runs.run_tables import StoredComment, StoredConversation
from gateleg.apps.delphi.runs.vote_tables import ConsensusComment, RepresentativeComment
from gateleg.host import AgentTool
from gateleg.host.errors import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.host import Principal, Resources
    from gateleg.store import AsyncStore

__all__ = ["delphi_tools"]

#: The maximum numbers of conversations in a list, of comments per group, and of comments on common ground.
_LISTED, _OF_GROUP, _OF_ALL = 20, 3, 5


class ConversationArgument(BaseModel):
    """The arguments of a tool for one conversation."""

    conversation: str | None = Field(default=None, description="The name of the conversation; default: the most recently changed one.")


class NoArguments(BaseModel):
    """No arguments."""


def delphi_tools(resources: Resources) -> list[AgentTool]:
    """The tools of Delphi."""
    store = resources.store

    async def conversations(principal: Principal, given: NoArguments) -> str:
        found = [f"- {one.conversation_id}: {one.topic or 'no topic'}" for one in await _recent(store, principal, _LISTED)]
        return "\n".join(["Conversations, most recently changed first:", *found]) if found else "There are no conversations."

    async def groups(principal: Principal, given: ConversationArgument) -> str:
        conversation, run = await _latest(store, principal, given.conversation)
        rows = [row async for row in service.results(store, RepresentativeComment, run.job_id)]
        texts = await _texts(store, conversation, (row.comment_id for row in rows))
        sizes = run.summary.get("group_sizes") or []
        lines = [
            f"{conversation.topic or conversation.conversation_id}: {run.summary.get('participants')} participants cast "
            f"{run.summary.get('votes')} votes on {run.summary.get('comments')} comments and form {len(sizes)} opinion groups."
        ]
        for group, size in enumerate(sizes):
            lines.append(f"Group {group + 1} has {size} participants.")
            own = [row for row in rows if row.group_id == group and row.comment_id in texts][:_OF_GROUP]
            lines += [f"- {_share(row.n_success, row.n_trials)} {row.side}: {texts[row.comment_id]}" for row in own]
        return "\n".join(lines)

    async def common_ground(principal: Principal, given: ConversationArgument) -> str:
        conversation, run = await _latest(store, principal, given.conversation)
        rows = [row async for row in service.results(store, ConsensusComment, run.job_id)]
        texts = await _texts(store, conversation, (row.comment_id for row in rows))
        known = [row for row in rows if row.comment_id in texts]
        shown = ([row for row in known if row.kind == "common"] or known)[:_OF_ALL]
        title = conversation.topic or conversation.conversation_id
        if not shown:
            return f"{title}: no comment has the agreement of all groups."
        return "\n".join([f"{title}: comments that all opinion groups agree with.", *(_common(row, texts) for row in shown)])

    return [
        AgentTool("conversations", "List conversations with their topics.", NoArguments, conversations),
        AgentTool(
            "groups",
            "The opinion groups in a conversation: their number and sizes, and the opinions that distinguish them.",
            ConversationArgument,
            groups,
        ),
        AgentTool(
            "common_ground",
            "The comments that everybody in a conversation agrees with: consensus and common ground of all groups.",
            ConversationArgument,
            common_ground,
        ),
    ]


async def _recent(store: AsyncStore, principal: Principal, limit: int) -> list[StoredConversation]:
    question, condition = StoredConversation.recent(), rules.visible_condition(principal)
    asked = store.query(question if condition is None else question.filter(condition), limit=limit)
    return [one async for one in asked]


async def _latest(store: AsyncStore, principal: Principal, name: str | None) -> tuple[StoredConversation, Run]:
    """A conversation that the principal may see, and the latest analysis of its votes."""
    if name is not None:
        found = rules.check_visible(principal, await store.find(StoredConversation, conversation_id=name), name)
        return found, await service.latest_run(store, found.conversation_id)
    recent = await _recent(store, principal, 1)
    if not recent:
        raise Unknown("There are no conversations.")
    return recent[0], await service.latest_run(store, recent[0].conversation_id)


async def _texts(store: AsyncStore, conversation: StoredConversation, ids: Iterable[int]) -> dict[int, str]:
    """The texts of comments that the current upload has and does not reject. A run may be older than the rejection of a comment."""
    refs = [StoredComment.key(upload_id=conversation.upload_id, comment_id=one) for one in sorted(set(ids))]
    found = await store.batch_get(refs) if refs else []
    return {one.comment_id: one.body for one in found if one is not None and one.moderated != -1}


def _share(part: int, whole: int) -> str:
    return f"{round(100 * part / whole)} %" if whole else "nobody"


def _common(row: ConsensusComment, texts: dict[int, str]) -> str:
    text = texts[row.comment_id]
    if row.at_least is not None:
        return f"- at least {round(100 * row.at_least)} % of every group agree: {text}"
    return f"- {_share(row.n_success or 0, row.n_trials or 0)} {row.kind}: {text}"

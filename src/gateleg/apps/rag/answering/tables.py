"""Conversations, which follow-up questions refer to.

A turn stores the question and the positions of the cited sentences, but no text of documents, so nothing remains of a deleted document.
"""

from datetime import datetime

from gateleg.model import TTL, Attr, Entity, Key, Pattern, Table, field, stamp

conversations_table = Table("LisaRagConversationTable", hash="pk", range="sk")
CONVERSATION_TABLES = (conversations_table,)
#: Days for which a turn is kept.
KEPT_DAYS = 30


class ConversationTurn(Entity, table=conversations_table, case="camel"):
    """A turn of a conversation: a question, and what its answer cited."""

    #: tenant and name of the person who asked
    owner: Attr[str]
    conversation_id: Attr[str]
    #: from 1
    turn: Attr[int] = field(1, ge=1, le=9_999)
    question: Attr[str]
    #: the text that was searched for: the question, rewritten to stand alone
    searched: Attr[str]
    found: Attr[bool] = field(False)
    #: the searched collections: "repository/collection"
    places: Attr[list[str]] = field(factory=list)
    #: the cited chunks: "document#generation#ordinal"
    citations: Attr[list[str]] = field(factory=list)
    #: the positions of the answer's sentences: "document#start"
    said: Attr[list[str]] = field(factory=list)
    created_at: Attr[datetime] = stamp(on="create")
    expires_at: Attr[TTL]

    key = Key("{owner}#{conversation_id}", "{turn:04d}")
    in_conversation = Pattern(title="The questions of a conversation, in order")

"""Conversations: what somebody has asked, so that follow-up questions can be understood.

Questions are kept, and which places were cited; not what the documents said. So nothing of a document stays behind when it is deleted.
"""

from datetime import datetime

from gateleg.model import TTL, Attr, Entity, Key, Pattern, Table, field, stamp

conversations_table = Table("LisaRagConversationTable", hash="pk", range="sk")
CONVERSATION_TABLES = (conversations_table,)
#: Days after which a turn is forgotten.
KEPT_DAYS = 30


class ConversationTurn(Entity, table=conversations_table, case="camel"):
    """A question of a conversation."""

    #: tenant and name of the person whose conversation it is
    owner: Attr[str]
    conversation_id: Attr[str]
    #: from 1
    turn: Attr[int] = field(1, ge=1, le=9_999)
    question: Attr[str]
    #: what was searched for
    searched: Attr[str]
    found: Attr[bool] = field(False)
    #: the collections that were searched: "repository/collection"
    places: Attr[list[str]] = field(factory=list)
    #: the chunks that the answer cites: "document#generation#ordinal"
    citations: Attr[list[str]] = field(factory=list)
    #: where the sentences of the answer stand: "document#start"
    said: Attr[list[str]] = field(factory=list)
    created_at: Attr[datetime] = stamp(on="create")
    expires_at: Attr[TTL]

    key = Key("{owner}#{conversation_id}", "{turn:04d}")
    in_conversation = Pattern(title="The questions of a conversation, in order")

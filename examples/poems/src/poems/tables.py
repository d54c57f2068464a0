"""The table of the application, what is in it, and what it is asked."""

from datetime import datetime
from uuid import UUID

from gateleg.model import Attr, Entity, Key, Pattern, S3Key, Table, field, new_uuid

poems = Table("Poems", hash="owner", range="poem_id")


class Poem(Entity, table=poems):
    """A poem of somebody. Its text is an object."""

    #: `Principal.owner`: the name with the tenant, because two tenants may have an Ann each
    owner: Attr[str]
    poem_id: Attr[UUID] = new_uuid()
    title: Attr[str]
    text: Attr[S3Key]
    written_at: Attr[datetime]
    #: what the job has found; None before
    lines: Attr[int | None] = field(None)
    #: the poem as it was set
    page: Attr[S3Key | None] = field(None)

    key = Key("{owner}", "{poem_id}")
    of_owner = Pattern(title="Poems of somebody")

"""The collection that a route writes to, named in the query, in a form or in a JSON body."""

from pydantic import Field

from gateleg.host.errors import InvalidRequest
from gateleg.web.uploads import FormFields


class CollectionFields(FormFields):
    """What may be sent along with documents."""

    collection_id: str | None = Field(
        default=None, max_length=200, description="The id or name of the collection; by default, the default collection."
    )

    def agreeing(self, in_body: str | None) -> str | None:
        """The collection that the query or the body names. Two different ones are refused."""
        if None not in (self.collection_id, in_body) and self.collection_id != in_body:
            raise InvalidRequest(
                f"'collectionId' is {self.collection_id!r} in the query and {in_body!r} in the body.", fix="Send one of them."
            )
        return in_body or self.collection_id


class PlaceFields(CollectionFields):
    """The repository and the collection, where the path names neither."""

    repository_id: str | None = Field(default=None, max_length=100)

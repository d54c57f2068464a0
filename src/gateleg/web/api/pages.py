"""Lists that come page by page."""

from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

__all__ = ["Cursor", "Limit", "Listing"]

T = TypeVar("T")


class Listing(BaseModel, Generic[T]):
    """Some results in order, and where the next ones are."""

    items: list[T]
    #: give it back as `cursor` for the next page; null at the end
    next: str | None = Field(default=None, description="Give it back as `cursor` for the next page; null at the end.")


Limit = Annotated[int, Query(ge=1, le=200, description="How many results to answer with.")]
Cursor = Annotated[str | None, Query(max_length=4000, description="`next` of an earlier answer to the same question.")]

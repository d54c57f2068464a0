"""Numbers that follow a table, whoever writes it: `python ratings.py [embedded:./data | dynamodb:eu-west-1 | http://127.0.0.1:8001]`.

Ratings are written by this program, by others with boto3, and removed by TTL. A consumer of the table's stream adds them up for each film.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta

from gateleg.jobs.table_streams import StreamConsumer, TableStreams, stream_table
from gateleg.model import TTL, Attr, Change, Entity, Key, Table, field
from gateleg.store import AlreadyExists, AsyncStore, TransactionCanceled, create, upsert

ratings = Table("Ratings", hash="film", range="viewer", stream="NEW_AND_OLD_IMAGES")
films = Table("Films", hash="pk", range="sk", tag="kind")


class Rating(Entity, table=ratings):
    film: Attr[str]
    viewer: Attr[str]
    stars: Attr[int] = field(ge=1, le=5)
    expires_at: Attr[TTL | None] = field(None)
    key = Key("{film}", "{viewer}")


class Score(Entity, table=films, tag="score"):
    film: Attr[str]
    ratings: Attr[int] = field(0)
    stars: Attr[int] = field(0)
    key = Key("FILM#{film}", "SCORE")


class AddedChange(Entity, table=films, tag="added"):
    """A change that the score has. Streams keep changes for a day, so none is delivered later."""

    film: Attr[str]
    event_id: Attr[str]
    expires_at: Attr[TTL]
    key = Key("FILM#{film}", "CHANGE#{event_id}")


def make_streams(store: AsyncStore) -> TableStreams:
    streams = TableStreams()

    @streams.on(Rating)
    async def add_up(change: Change) -> None:
        before, after = (image if isinstance(image, Rating) else None for image in (change.before, change.after))
        film = change.key["film"]["S"]
        number = (after is not None) - (before is not None)
        stars = (after.stars if after else 0) - (before.stars if before else 0)
        added = AddedChange(film=film, event_id=change.event_id, expires_at=datetime.now(UTC) + timedelta(days=2))
        try:
            # Both or neither: a change that is delivered again is not added again.
            await store.transact([upsert(Score.key(film=film), Score.ratings.add(number), Score.stars.add(stars)), create(added)])
        except TransactionCanceled as refused:
            if not isinstance(refused.reasons[1], AlreadyExists):
                raise

    return streams


async def main(address: str) -> None:
    async with AsyncStore.connect(address) as store:
        await store.ensure_tables(ratings, films, stream_table)
        await store.put(Rating(film="Metropolis", viewer="ann", stars=5))
        await store.put(Rating(film="Metropolis", viewer="bob", stars=2))
        await store.put(Rating(film="Metropolis", viewer="bob", stars=4))
        await store.put(Rating(film="Metropolis", viewer="cy", stars=1))
        await store.delete(Rating, film="Metropolis", viewer="cy")
        # A service calls `run` instead, which goes on until it is stopped.
        await StreamConsumer(store, make_streams(store), "scores").round()
        score = await store.get(Score, film="Metropolis")
        print(f"{score.film}: {score.stars / score.ratings} stars of {score.ratings} viewers")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "embedded::memory:"))

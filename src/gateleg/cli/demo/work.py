"""The jobs of the demo application, which read, count, write and draw.

Bar charts as SVG, and a page that shows them. Pure.

The tables of the demo application: songs, and charts of the most played ones.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
from collections import defaultdict
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel, Field

from gateleg.cli.demo.samples import MONTHS, collection, counted, listening_log
from gateleg.jobs import JobContext, Jobs, Retry, Submission
from gateleg.model import GSI, Attr, Entity, Key, Pattern, Table, required
from gateleg.objects import ObjectMissing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.host import Resources


RATINGS = "demo/ratings.csv"
_PLACES = 12


class ImportConfig(BaseModel):
    """The config of an import."""

    months: list[str] = Field(default=list(MONTHS), description="Months whose listening logs are counted.", min_length=1, max_length=12)


class Month(BaseModel):
    """One month of the listening log."""

    month: str = Field(pattern=r"^\d{4}-\d{2}$", description="Such as 2026-10.")


class ReportCharts(BaseModel):
    """The charts of a report."""

    months: list[str]


class Fingerprints(BaseModel):
    """The config of fingerprints."""

    rounds: int = Field(default=1_500_000, ge=1, le=20_000_000, description="More rounds take longer.")


class Ratings(BaseModel):
    """Where the ratings are."""

    key: str = Field(default=RATINGS, description="The object with the columns artist, title and stars.")


class Decades(BaseModel):
    """An empty config."""


class NoRatings(Exception):
    """The ratings are missing."""


class Shop:
    """The handlers, with their store and objects."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def import_all(self, job: JobContext, config: ImportConfig) -> dict[str, int]:
        """Submit the parts of an import: load the songs, count and draw each month, combine the charts."""
        counts = {month: uuid4() for month in config.months}
        draws = {month: uuid4() for month in config.months}
        parts = [Submission("demo.load-songs", {}, stage="load")]
        for month in config.months:
            parts.append(Submission("demo.count", Month(month=month), job_id=counts[month], stage="count"))
            parts.append(Submission("demo.draw", Month(month=month), job_id=draws[month], dependencies=[counts[month]], stage="draw"))
        parts.append(Submission("demo.report", ReportCharts(months=config.months), dependencies=list(draws.values()), stage="report"))
        if job.attempt == 1:
            # Submitted once: a repeated attempt finds the parts of the first.
            await job.submit_many(parts)
        job.log(f"{len(parts)} parts submitted: songs, {len(config.months)} counts, {len(config.months)} charts and a report")
        return {"parts": len(parts)}

    async def load_songs(self, job: JobContext, config: dict[str, Any]) -> dict[str, int]:
        """Write the collection to its table."""
        tracks = collection()
        for done, track in enumerate(tracks, 1):
            await self._resources.store.put(Song(artist=track.artist, title=track.title, year=track.year, seconds=track.seconds))
            job.progress(done, len(tracks), f"{track.artist}: {track.title}")
        job.log(f"{len(tracks)} songs are in the table Songs")
        job.output("tables", "Songs")
        job.metric("songs", len(tracks))
        return {"songs": len(tracks)}

    async def count(self, job: JobContext, config: Month) -> dict[str, Any]:
        """Count the plays of a month and write its chart to the table."""
        store, objects = self._resources.store, self._resources.objects
        log_key = f"demo/plays/{config.month}.csv"
        if not await objects.exists(log_key):
            log = await asyncio.to_thread(listening_log, config.month, collection())
            await objects.put(log_key, log, content_type="text/csv")
            job.log(f"{log_key} written, {len(log):,} bytes")
        plays = counted(await objects.get(log_key))
        job.log(f"{plays.total():,} plays of {len(plays)} songs")
        now = datetime.now(UTC)
        for place, ((artist, title), number) in enumerate(plays.most_common(), 1):
            await store.put(ChartEntry(month=config.month, place=place, artist=artist, title=title, plays=number, counted_at=now))
            job.progress(place, len(plays), title)
        job.metric("plays", plays.total())
        job.output("tables", "SongCharts")
        (artist, title), number = plays.most_common(1)[0]
        return {"first": f"{artist}: {title}", "plays": number}

    async def draw(self, job: JobContext, config: Month) -> dict[str, str]:
        """Draw the chart of a month."""
        found = [entry async for entry in self._resources.store.query(ChartEntry.of_month(month=config.month), limit=_PLACES)]
        if not found:
            raise LookupError(f"There is no chart of {config.month} yet: run demo.count for it first.")
        chart = bar_chart(f"Most played in {config.month}", [(f"{one.title} ({one.artist})", one.plays) for one in found], "plays")
        return {"chart": await self._written(job, f"demo/charts/{config.month}.svg", chart, "image/svg+xml")}

    async def report(self, job: JobContext, config: ReportCharts) -> dict[str, str]:
        """Combine the charts on one page."""
        objects = self._resources.objects
        charts = [(await objects.get(f"demo/charts/{month}.svg")).decode() for month in config.months]
        page = report_page("What we listened to", charts, [f"{len(charts)} months", f"{len(collection())} songs in the collection"])
        return {"report": await self._written(job, "demo/report.html", page, "text/html; charset=utf-8")}

    async def decades(self, job: JobContext, config: Decades) -> dict[str, str]:
        """Draw the minutes of music of each decade."""
        minutes: dict[str, float] = defaultdict(float)
        for track in collection():
            minutes[f"{track.year // 10 * 10}s"] += track.seconds / 60
        chart = bar_chart("Minutes of music by decade", sorted(minutes.items()), "min", colour=2)
        return {"chart": await self._written(job, "demo/charts/decades.svg", chart, "image/svg+xml")}

    async def fingerprint(self, job: JobContext, config: Fingerprints) -> dict[str, int]:
        """Compute a fingerprint of every song: deliberately slow, and cancellable at any time."""
        tracks, lines = collection(), []
        for done, track in enumerate(tracks):
            job.check()
            job.progress(done, len(tracks), f"{track.artist}: {track.title}")
            name = f"{track.artist}/{track.title}".encode()
            digest = await asyncio.to_thread(hashlib.pbkdf2_hmac, "sha256", name, b"gateleg demo", config.rounds)
            lines.append(f"{digest.hex()[:16]},{track.artist},{track.title}")
            job.log(f"{digest.hex()[:16]}  {track.title}")
        await self._written(job, "demo/fingerprints.csv", "fingerprint,artist,title\n" + "\n".join(lines) + "\n", "text/csv")
        job.progress(len(tracks), len(tracks), "done")
        return {"songs": len(tracks)}

    async def rate(self, job: JobContext, config: Ratings) -> dict[str, str]:
        """Draw the average stars of each artist, from a file that the user has to upload."""
        job.log(f"looking for {config.key}")
        try:
            content = await self._resources.objects.get(config.key)
        except ObjectMissing:
            raise NoRatings(
                f"There is no object {config.key} yet. Upload a CSV file with the columns artist, title and stars under that key "
                "(Objects in the console, or POST /api/objects/links), then retry this job."
            ) from None
        stars: dict[str, list[float]] = defaultdict(list)
        for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig"))):
            stars[row["artist"]].append(float(row["stars"]))
        averages = sorted(((artist, sum(given) / len(given)) for artist, given in stars.items()), key=lambda pair: -pair[1])
        chart = bar_chart("Average stars", averages[:_PLACES], "stars", colour=1)
        return {"chart": await self._written(job, "demo/charts/ratings.svg", chart, "image/svg+xml")}

    async def _written(self, job: JobContext, key: str, text: str, content_type: str) -> str:
        info = await self._resources.objects.put(key, text.encode(), content_type=content_type)
        job.output("objects", key)
        job.log(f"{key} written, {info.size:,} bytes")
        return key


def make_jobs(resources: Resources) -> Jobs:
    """The job types of the demo application."""
    shop, jobs = Shop(resources), Jobs()
    jobs.handler("demo.import", config=ImportConfig, priority=70)(shop.import_all)
    jobs.handler("demo.load-songs")(shop.load_songs)
    jobs.handler("demo.count", config=Month)(shop.count)
    jobs.handler("demo.draw", config=Month)(shop.draw)
    jobs.handler("demo.report", config=ReportCharts)(shop.report)
    jobs.handler("demo.decades", config=Decades, priority=30)(shop.decades)
    jobs.handler("demo.fingerprint", config=Fingerprints, priority=40, timeout=1800)(shop.fingerprint)
    jobs.handler("demo.ratings", config=Ratings, retry=Retry(times=2, first=5, jitter=0))(shop.rate)
    return jobs


_WIDTH, _ROW, _LABEL = 760, 28, 290
#: The Okabe-Ito palette, which is safe for colour-blind people.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def bar_chart(title: str, bars: Sequence[tuple[str, float]], unit: str, *, colour: int = 0) -> str:
    """Horizontal bars, each with its name and value."""
    most = max((value for _, value in bars), default=1) or 1
    height = 64 + _ROW * len(bars)
    rows = []
    for place, (name, value) in enumerate(bars):
        top = 56 + place * _ROW
        width = (_WIDTH - _LABEL - 90) * value / most
        rows.append(
            f'<text x="{_LABEL - 12}" y="{top + 15}" text-anchor="end">{escape(_short(name))}</text>'
            f'<rect x="{_LABEL}" y="{top}" width="{width:.1f}" height="20" rx="3" fill="{_COLOURS[colour % len(_COLOURS)]}"/>'
            f'<text x="{_LABEL + width + 8:.1f}" y="{top + 15}" fill="#5b6470">{value:,.4g} {escape(unit)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#1b1f24"><title>{escape(title)}</title>'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
        f'<text x="16" y="32" font-size="18" font-weight="600">{escape(title)}</text>{"".join(rows)}</svg>\n'
    )


def report_page(title: str, charts: Sequence[str], notes: Sequence[str]) -> str:
    """Charts on one page."""
    list_items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:32px auto;padding:0 16px;color:#1b1f24;background:#fff}"
        "svg{max-width:100%;height:auto;border:1px solid #d9dde2;border-radius:8px;margin:8px 0}</style>"
        f"<h1>{escape(title)}</h1><ul>{list_items}</ul>{''.join(charts)}</html>\n"
    )


def _short(name: str) -> str:
    return name if len(name) <= 36 else f"{name[:35]}…"


songs_table = Table("Songs", hash="artist", range="title", indexes=[GSI("by-year", hash="year", range="title")])
charts_table = Table("SongCharts", hash="month", range="place")


class Song(Entity, table=songs_table):
    """A song in the collection."""

    artist: Attr[str] = required(min_length=1, max_length=200)
    title: Attr[str] = required(min_length=1, max_length=200)
    year: Attr[int] = required(ge=1860, le=2100)
    #: duration in seconds
    seconds: Attr[int] = required(ge=1)

    key = Key("{artist}", "{title}")
    of_artist = Pattern(title="Songs of an artist, by title")
    of_year = Pattern("by-year", title="Songs of a year, by title")


class ChartEntry(Entity, table=charts_table):
    """A position in the chart of a month."""

    #: such as 2026-10
    month: Attr[str] = required(pattern=r"^\d{4}-\d{2}$")
    #: 1 is the most played
    place: Attr[int] = required(ge=1)
    artist: Attr[str]
    title: Attr[str]
    plays: Attr[int]
    counted_at: Attr[datetime]

    key = Key("{month}", "{place}")
    of_month = Pattern(title="The chart of a month, most played first")

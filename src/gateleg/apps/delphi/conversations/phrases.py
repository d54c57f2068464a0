"""The words of synthetic comments: sentences about a few topics of a town."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


@dataclass(frozen=True, slots=True)
class Topic:
    """What can be said about one thing: every subject goes with every demand."""

    name: str
    subjects: tuple[str, ...]
    demands: tuple[str, ...]


_OPENINGS = (
    "",
    "I think ",
    "In my opinion ",
    "We all know that ",
    "It is high time to admit that ",
    "My neighbours and I believe ",
    "Nobody says it, but ",
    "Frankly, ",
)

TOPICS: tuple[Topic, ...] = (
    Topic(
        "cycling and buses",
        (
            "bike lanes on main roads",
            "the night bus",
            "cycle paths to the station",
            "bus tickets",
            "cyclists at crossings",
            "the tram line",
        ),
        (
            "should be paid for before any new road",
            "deserve more room than parked cars",
            "need a timetable that commuters can trust",
            "must be safe for children riding alone",
            "cost far more than the few riders justify",
            "would take traffic jams off the ring road",
        ),
    ),
    Topic(
        "housing and rent",
        ("rent for a small flat", "empty apartments", "social housing", "landlords", "new blocks of flats", "first-time buyers"),
        (
            "should be capped by law in this town",
            "must not be left to holiday rentals",
            "need building permits within weeks",
            "drive young families out of the centre",
            "deserve tax relief for affordable homes",
            "are the reason tenants cannot save money",
        ),
    ),
    Topic(
        "schools and teachers",
        ("primary schools", "teachers in their first year", "school lunches", "class sizes", "homework for pupils", "the secondary school"),
        (
            "should come before every other budget line",
            "need smaller classrooms and more staff",
            "must teach computing from the first grade",
            "deserve better pay for qualified teachers",
            "suffer because lessons are cancelled so often",
            "ought to be free for every pupil",
        ),
    ),
    Topic(
        "clinics and doctors",
        (
            "the local hospital",
            "family doctors",
            "waiting times for surgery",
            "nurses on night shift",
            "mental health clinics",
            "the pharmacy",
        ),
        (
            "should treat patients on weekends as well",
            "need more beds for emergency patients",
            "must not be sold to a private hospital group",
            "deserve funding for preventive medicine",
            "make sick people travel to the next city",
            "ought to offer appointments within a week",
        ),
    ),
    Topic(
        "energy and climate",
        (
            "solar panels on roofs",
            "wind turbines on the hill",
            "heating with gas",
            "electricity prices",
            "home insulation",
            "the power grid",
        ),
        (
            "should be subsidised until emissions fall",
            "must be renewable by the end of the decade",
            "need storage batteries before anything else",
            "spoil the landscape for little carbon saved",
            "deserve loans that pay back in saved energy",
            "are what climate policy should begin with",
        ),
    ),
    Topic(
        "police and safety",
        ("police patrols at night", "street lighting", "cameras in the underpass", "youth crime", "burglaries", "the volunteer watch"),
        (
            "should be visible where crime is reported",
            "must respect privacy before surveillance",
            "need officers who know the neighbourhood",
            "frighten elderly residents after dark",
            "deserve prevention rather than punishment",
            "ought to be answered by faster prosecution",
        ),
    ),
    Topic(
        "parks and nature",
        (
            "trees along the river",
            "the playground in the park",
            "flower meadows",
            "dogs without a leash",
            "the old forest",
            "community gardens",
        ),
        (
            "should be planted instead of mown lawns",
            "must be protected from building projects",
            "need benches and shade for hot summers",
            "deserve gardeners and regular watering",
            "are littered after every barbecue weekend",
            "ought to give wildlife and birds a home",
        ),
    ),
    Topic(
        "museums and festivals",
        ("the summer music festival", "the town museum", "the public library", "theatre tickets", "local bands", "the art school"),
        (
            "should be free on the first Sunday of the month",
            "must get a stage of their own downtown",
            "need public money to survive another season",
            "bring more visitors than any advertisement",
            "deserve longer opening hours in the evening",
            "ought to show artists from this region",
        ),
    ),
)


def sentences(topics: Sequence[int], random: np.random.Generator) -> list[str]:
    """A comment about each of some topics, all different for as long as the words last."""
    waiting: dict[int, list[str]] = {}
    for place in sorted(set(topics)):
        topic = TOPICS[place]
        said = [f"{opening}{subject} {demand}." for opening, subject, demand in product(_OPENINGS, topic.subjects, topic.demands)]
        waiting[place] = [said[index] for index in random.permutation(len(said))]
    found = []
    for number, place in enumerate(topics):
        texts = waiting[place]
        text = texts[number % len(texts)] if number >= len(texts) * len(waiting) else texts.pop()
        found.append(text[0].upper() + text[1:])
    return found

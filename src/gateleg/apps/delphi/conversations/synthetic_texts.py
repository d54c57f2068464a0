"""The texts of synthetic comments: sentences about a few topics of a town."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and the claims that can be made about it."""

    name: str
    #: by subject, its demands: each is written for its subject, and its words alone show the topic
    demands: dict[str, tuple[str, ...]]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects of the topic."""
        return tuple(self.demands)

    @property
    def claims(self) -> tuple[str, ...]:
        """Every subject with each of its demands."""
        return tuple(f"{subject} {demand}" for subject, demands in self.demands.items() for demand in demands)


#: Ways to say a claim, none of which hints at a topic.
_FRAMES = (
    "{}.",
    "I think {}.",
    "In my opinion {}.",
    "To be honest, {}.",
    "It seems to me that {}.",
    "As I see it, {}.",
    "I am convinced that {}.",
    "Let us be clear: {}.",
    "Few will say so, but {}.",
    "{}, and that is what matters most to me.",
)

TOPICS: tuple[Topic, ...] = (
    Topic(
        "buses and trams",
        {
            "bus lanes": (
                "should be closed to cars on every main road",
                "keep buses on time at rush hour",
                "take road space away from drivers for very few passengers",
                "must lead all the way to the railway station",
            ),
            "the night bus": (
                "should run every half hour on weekends",
                "leaves the last passengers at the stop in the rain",
                "is cheaper for commuters than a taxi",
                "has to follow a timetable that riders can trust",
            ),
            "bus tickets": (
                "should be free for passengers under eighteen",
                "cost more than driving a car into the centre",
                "must be valid on trams and trains as well",
                "ought to be sold by the drivers again",
            ),
            "commuters": (
                "need a tram every ten minutes in the morning",
                "would leave their cars if trains and buses met on time",
                "deserve roofs and seats at every bus stop",
                "should be asked before a bus line is cut",
            ),
            "the tram line": (
                "should be extended to the suburbs before any new road",
                "is always crowded with commuters at rush hour",
                "would replace hundreds of cars and buses",
                "needs more stops and shorter intervals",
            ),
            "public transport": (
                "has to be faster than driving to win passengers",
                "should connect the villages with an hourly bus",
                "is the best answer to traffic in the centre",
                "runs half empty and costs far too much per rider",
            ),
        },
    ),
    Topic(
        "housing and rent",
        {
            "rent": (
                "for a small flat takes half of what tenants earn",
                "should be capped by law for old apartments",
                "rises every time a tenant moves out of a flat",
                "drives young families out of their apartments",
            ),
            "empty apartments": (
                "should be let to families who look for a home",
                "must not be turned into holiday rentals",
                "ought to be taxed until their owners rent them out",
                "are a scandal while tenants wait for housing",
            ),
            "social housing": (
                "should make up a third of all new flats",
                "keeps rents down for everybody else",
                "must not be sold to private landlords",
                "has a waiting list of four years for an apartment",
            ),
            "landlords": (
                "should have to justify every increase of the rent",
                "ask tenants for deposits that nobody can pay",
                "need protection from tenants who do not pay the rent",
                "leave flats without repairs until the tenants give up",
            ),
            "new blocks of flats": (
                "need building permits within weeks",
                "should have affordable apartments on every floor",
                "are the only way to end the shortage of housing",
                "are bought by investors and not by tenants",
            ),
            "first-time buyers": (
                "cannot afford a house in this town any more",
                "should pay no tax on their first apartment",
                "are outbid by landlords for every house on sale",
                "deserve cheap mortgages for a home of their own",
            ),
        },
    ),
    Topic(
        "schools and teachers",
        {
            "primary schools": (
                "should have two teachers in every classroom",
                "must teach computing from the first grade",
                "ought to keep pupils until the late afternoon",
                "need new classrooms before the next school year",
            ),
            "teachers": (
                "deserve better pay in their first years at school",
                "spend more time on forms than on lessons",
                "should be trained to teach pupils with special needs",
                "are missing in mathematics and science lessons",
            ),
            "school lunches": (
                "should be free for every pupil",
                "must be cooked fresh in the school kitchen",
                "are so bad that pupils leave them on the plate",
                "help children to learn in the afternoon lessons",
            ),
            "class sizes": (
                "should be limited to twenty pupils",
                "matter more to learning than new schoolbooks",
                "have grown because teachers are not replaced",
                "make it impossible for teachers to help slow learners",
            ),
            "homework": (
                "should be done at school with the help of teachers",
                "leaves pupils no time to play after school",
                "teaches children to learn on their own",
                "divides pupils by how much their parents can help",
            ),
            "the secondary school": (
                "cancels lessons far too often",
                "should offer pupils a third foreign language",
                "must prepare its pupils better for university",
                "needs a laboratory for its science classes",
            ),
        },
    ),
    Topic(
        "clinics and doctors",
        {
            "the local hospital": (
                "should treat emergency patients around the clock",
                "must not be sold to a private hospital group",
                "needs more beds and doctors in intensive care",
                "sends sick people home far too early",
            ),
            "family doctors": (
                "take no new patients any more",
                "should see sick patients on the same day",
                "ought to visit the elderly and ill at home",
                "retire without a young doctor to follow them",
            ),
            "waiting times": (
                "for surgery are a danger to patients",
                "to see a medical specialist should be under a month",
                "in the emergency room show how few nurses there are",
                "for a doctor's appointment are longer every year",
            ),
            "nurses": (
                "should have fewer patients on a night shift",
                "deserve higher pay for caring for the sick",
                "leave the hospital because they are exhausted",
                "could give vaccinations without a doctor",
            ),
            "mental health clinics": (
                "should offer therapy within a week",
                "need more psychiatrists for young patients",
                "treat illness before patients end up in hospital",
                "must be paid for by health insurance in full",
            ),
            "the pharmacy": (
                "should be open at night for sick people",
                "runs out of common medicines every winter",
                "ought to deliver medicine to patients at home",
                "gives better advice on medication than many doctors",
            ),
        },
    ),
    Topic(
        "energy and climate",
        {
            "solar panels": (
                "should be on the roof of every public building",
                "make us independent of imported electricity",
                "need batteries to store power for the night",
                "pay for themselves with the energy they produce",
            ),
            "wind turbines": (
                "spoil the hills for little electricity",
                "should produce half of our power by the end of the decade",
                "are the cheapest source of renewable energy",
                "ought to pay part of their energy profits to the villages",
            ),
            "heating with gas": (
                "must end if we take climate change seriously",
                "is still the cheapest source of energy in winter",
                "should be taxed by its carbon emissions",
                "makes us depend on fossil fuels from abroad",
            ),
            "electricity prices": (
                "should fall when the wind and the sun give power",
                "are too high for anyone to change to clean energy",
                "rise because the power grid is out of date",
                "need a limit before the climate targets are raised",
            ),
            "carbon emissions": (
                "should be cut by half within ten years",
                "fall fastest where fossil fuels cost more",
                "are the fault of large power plants",
                "must be measured for the whole town every year",
            ),
            "the power grid": (
                "needs large batteries before more wind and solar energy",
                "should belong to the public and not to energy companies",
                "cannot carry the electricity of all those heat pumps",
                "has to be ready for renewable power",
            ),
        },
    ),
    Topic(
        "police and safety",
        {
            "police patrols": (
                "should be seen at night where crimes are reported",
                "on foot would prevent most street crime",
                "stop innocent people far too often",
                "know the criminals better than any camera does",
            ),
            "surveillance cameras": (
                "should watch the underpass where people are robbed",
                "do not prevent crime but take away our privacy",
                "help the police to find thieves",
                "must be switched off where there is no crime",
            ),
            "youth crime": (
                "needs prevention rather than punishment",
                "should be brought to court within weeks",
                "is exaggerated by the police and the press",
                "frightens the victims of robberies at night",
            ),
            "burglaries": (
                "should be investigated and not just filed by the police",
                "have doubled since the police station was closed",
                "are rarely solved, and the thieves know it",
                "would be fewer with better locks and alarms",
            ),
            "police officers": (
                "should wear body cameras on every patrol",
                "need better training against violence",
                "take an hour to arrive after an assault",
                "deserve more respect for fighting crime",
            ),
            "violence at night": (
                "is why many are afraid to walk home in the dark",
                "should be punished by the courts much faster",
                "calls for more police around the bars",
                "would end with brighter lights and more guards",
            ),
        },
    ),
    Topic(
        "parks and nature",
        {
            "trees along the river": (
                "should be protected from every chainsaw",
                "give shade to plants and people in hot summers",
                "need watering in dry months to stay green",
                "are home to birds that nest nowhere else",
            ),
            "the city park": (
                "should have more benches under its old trees",
                "is littered on the grass after every barbecue",
                "must not lose a single lawn to building projects",
                "needs gardeners who know their plants",
            ),
            "flower meadows": (
                "should replace mown lawns for the sake of bees",
                "look untidy but feed butterflies and birds",
                "ought to be sown in every green space",
                "cost the gardeners less work than lawns",
            ),
            "the old forest": (
                "should be left to nature and wild animals",
                "needs young trees that survive drought",
                "must stay open to walkers who love nature",
                "is losing its oldest trees to beetles",
            ),
            "wild animals": (
                "should find hedges and ponds in our parks",
                "need green corridors between forest and meadows",
                "must not be fed by visitors to the park",
                "come into gardens because their forest shrinks",
            ),
            "the botanical garden": (
                "should grow more native plants and trees",
                "ought to give its seeds to gardeners for free",
                "needs new greenhouses for its rare plants",
                "is the finest green space that we have",
            ),
        },
    ),
    Topic(
        "museums and festivals",
        {
            "the summer music festival": (
                "should give local bands a stage",
                "brings more visitors than all concerts of the winter",
                "is too loud and too expensive for what music it offers",
                "must keep its free concerts in the open air",
            ),
            "the town museum": (
                "should be free on the first Sunday of the month",
                "needs new exhibitions about local history",
                "ought to show paintings by artists of this region",
                "keeps its best works of art in the cellar",
            ),
            "the theatre": (
                "should sell tickets to students at half the price",
                "cannot survive another season without subsidies for culture",
                "plays the same old dramas to the same audience",
                "deserves actors and musicians of its own",
            ),
            "local bands": (
                "should be paid for every concert they play",
                "need rooms to rehearse their music",
                "deserve a place in the programme of the concert hall",
                "make this a town of music and culture",
            ),
            "art exhibitions": (
                "should be shown in empty shop windows",
                "are only for those who know the artists",
                "must be open in the evening like theatres",
                "need curators and not only sponsors",
            ),
            "the concert hall": (
                "should invite orchestras from abroad",
                "costs more in subsidies than all museums together",
                "ought to be open to dance, film and theatre",
                "has the best sound for music in the region",
            ),
        },
    ),
)


def sentences(topics: Sequence[int], random: np.random.Generator) -> list[str]:
    """One comment for each entry of `topics`, all different until every claim has appeared in every frame."""
    waiting = {place: _comments_on(TOPICS[place], random) for place in sorted(set(topics))}
    found = []
    for place in topics:
        text = next(waiting[place])
        found.append(text[0].upper() + text[1:])
    return found


def _comments_on(topic: Topic, random: np.random.Generator) -> Iterator[str]:
    """Endless comments: every claim once, then every claim again in its next frame, and so on."""
    claims = [topic.claims[place] for place in random.permutation(len(topic.claims))]
    first = random.integers(len(_FRAMES), size=len(claims)).tolist()
    turn = 0
    while True:
        for claim, begun in zip(claims, first, strict=True):
            yield _FRAMES[(begun + turn) % len(_FRAMES)].format(claim)
        turn += 1

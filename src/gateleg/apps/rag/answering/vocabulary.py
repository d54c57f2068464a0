"""English word lists for questions: function words, generic words, quantities, synonyms and opposites. Pure."""

from __future__ import annotations

import re
from functools import cache

from gateleg.apps.rag.index.analysis import analyse

#: Words of a question that its answer need not contain.
_GENERIC_WORDS = """happen happens happened mean means meaning meant stand stands use used uses using need needs needed must shall may might
    get gets got take takes taken make makes made give gives gave given know knew tell show shows shown say says see find finds generate
    found call called calls name named kind kinds sort sorts type types way ways thing things exactly please document
    documents let want wants many much often long number numbers amount purpose happen reason cause possible able say
    explain describe define definition list then now also still just really actually currently usually normally generally
    about roughly approximately maximum minimum total exact correct right ever yet else next mind else instead anybody
    anyone somebody someone everybody everyone people person one ones something anything everything"""
GENERIC = frozenset(_GENERIC_WORDS.split())
#: Function words, which are not part of a question's subject.
_FUNCTION_WORDS = """what which who whom whose when where why how is are was were be been being am do does did done has have had having can
    could will would should shall may might must the a an this that these those my our your his her its their i you we he
    she it they me us them of for in on at by with from to about into onto over under between per as if while after before
    during until since and or but not no than then so there here any some all each every both either neither many much more
    most few less least very too also only own same other another such out up off down through against within without upon near
    again once"""
FUNCTION = frozenset(_FUNCTION_WORDS.split())
_DETERMINERS_WORDS = """the a an this that these those my our your his her its their each every any some all no"""
DETERMINERS = frozenset(_DETERMINERS_WORDS.split())
_AUXILIARIES_WORDS = """is are was were be am do does did has have had can could will would should shall may might must"""
AUXILIARIES = frozenset(_AUXILIARIES_WORDS.split())
#: Auxiliaries after which a subject and then a verb follow: "does the pump WEIGH".
_INVERTING_WORDS = """do does did can could will would should shall may might must"""
INVERTING = frozenset(_INVERTING_WORDS.split())

#: Irregular verbs, whose forms a stemmer does not unify.
_VERBS = """bear bore borne born, beat beaten, become became, begin began begun, bend bent, bind bound, bite bit bitten, blow blew blown,
    break broke broken, bring brought, build built, burn burnt, buy bought, catch caught, choose chose chosen, come came, cost, creep crept,
    deal dealt, dig dug, draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt,
    fight fought, fly flew flown, forbid forbade forbidden, forget forgot forgotten, freeze froze frozen, go goes went gone,
    grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, lay laid, lead led, learn learnt, leave left,
    lend lent, lie lay lain,
    lose lost, meet met, pay paid, ride rode ridden, ring rang rung, rise rose risen, run ran, see saw seen, seek sought, sell sold,
    send sent, shake shook shaken, shine shone, shoot shot, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept,
    slide slid, speak spoke spoken, spend spent, spring sprang sprung, steal stole stolen, stick stuck, strike struck, sweep swept,
    swim swam swum, swing swung, teach taught, tear tore torn, think thought, throw threw thrown, understand understood, wake woke woken,
    wear wore worn, weave wove woven, win won, wind wound, write wrote written, die died dies dead death"""
#: Groups of related words: a word in a question may be answered by another word of its group.
_GROUPS = (
    "price prices cost costs priced fee fees charge charges pay pays paid expensive cheap eur euro euros usd dollars pounds tariff tariffs",
    "leave leaves depart departs departure",
    "arrive arrives arrival",
    "weigh weighs weight heavy kg kilogram kilograms gram grams tonne tonnes lbs",
    "tall high height cm metre metres m mm inch inches feet",
    "wide width broad cm metre metres m mm inch inches",
    "deep depth cm metre metres m mm",
    "big large size sized small dimensions",
    "old age aged born years",
    "far distance km kilometre kilometres mile miles",
    "fast speed quick quickly kmh mph",
    "loud noise noisy db decibel decibels quiet",
    "hot warm temperature degrees °c cold",
    "power powerful watt watts kw w",
    "where located location address situated site place",
    "phone telephone call tel",
    "email mail e-mail",
    "colour color coloured colored",
    "warranty guarantee",
    "supply supplies supplier supplied vendor",
    "salary wage wages pay paid earn earns",
    "holiday holidays vacation leave",
    "begin begins beginning start starts starting started commence",
    "end ends ending finish finishes stop stops expire expires",
    "delete deletes deleted deletion remove removes removed removal",
    "employee employees staff worker workers",
    "job position role",
    "buy buys bought purchase purchases purchased",
    "fix fixes fixed repair repairs repaired remedy mend solve",
    "lead leads led leader head heads headed manage manages managed",
    "work works home remote remotely",
    "author authors write writes wrote written",
    "valid validity lasts last expires",
    "start starts started run runs running launch",
    "check checks checking verify verifies",
    "damage damaged corrupt corrupted corruption broken",
    "limit limits cap caps bound bounds restrict restricts restricted",
    "cost costs spend spends spending spent",
    "folder folders directory directories",
    "change changes changed update updates edit patch modify another",
    "backup backups back",
    "setup set",
    "login log signin sign",
    "signup sign register",
    "report reports tell tells show shows",
    "add adds upload uploads ingest insert import",
    "several many multiple batch",
    "earlier previous before past point",
    "night nightly daily",
    "time moment point",
    "allow allows allowed permit permits permitted permission forbid forbids forbidden prohibited compulsory",
)
#: Words of questions about a message itself, which its header answers: sender, recipient, date.
_MESSAGE_WORDS = """mail mails email emails e-mail message messages letter letters send sends sent sender write writes wrote written writer
    author receive receives received receiver recipient addressee reply replied copy cc subject"""
#: Opposites have similar embeddings but are not synonyms.
_OPPOSITES = """new old, open closed, first last, high low, large small, big small, long short, more less, most least, before after,
    begin end, start end, start stop, enter leave, arrive depart, buy sell, lend borrow, win lose, hot cold, warm cold,
    early late, fast slow, cheap expensive, light dark, light heavy, black white, inside outside, upper lower, left right,
    north south, east west, morning evening, day night, summer winter, man woman, husband wife, mother father, son
    daughter, landlord tenant, employer employee, buyer seller, client contractor, teacher student, import export, upload
    download, allow forbid, add remove, create delete, read write, send receive, minimum maximum, public private, internal
    external, indoor outdoor, wet dry, full empty, strong weak, hard soft"""
_COLOURS_WORDS = """red green blue yellow orange purple violet black white grey gray brown pink silver gold golden beige turquoise cyan
    magenta amber transparent"""
COLOURS = frozenset(_COLOURS_WORDS.split())
_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half quarter first
    second third fourth fifth once twice thrice"""
NUMBER_WORDS = frozenset(_NUMBERS.split())
#: Sets of words with similar embeddings that are not synonyms, such as the days of the week.
_KINDS = (
    _NUMBERS,
    _COLOURS_WORDS,
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april may june july august september october november december",
    "spring summer autumn winter",
    "north south east west",
)
#: Expressions of time and duration.
TIMES = re.compile(
    r"\b(?:\d{1,2}[:.h]\d{2}|\d{1,2} ?(?:am|pm|o'clock)|1\d{3}|20\d\d|jan(?:uary)?|feb(?:ruary)?|march|april|june|july|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|yesterday|noon|midnight|"
    r"dawn|dusk|morning|evening|afternoon|spring|summer|autumn|winter|daily|weekly|monthly|yearly|annually|hourly|nightly|"
    r"(?:second|minute|hour|day|night|week|month|quarter|year|decade|centur)(?:s|y|ies)?|before|after|until|as soon as|once|when|while|"
    r"at (?:the )?(?:start|end|beginning)|immediately|at once|never|always)\b",
    re.IGNORECASE,
)
PLACES = re.compile(
    r"\b(?:in|at|on|near|behind|under|beside|inside|below|above|outside|opposite|between|into|under)\s+(?:the\s+|a\s+|an\s+)?\w|\bhere\b|\bthere\b"
    r"|\bfrom\s+(?:the|an?|our|your)\s+\w",
    re.IGNORECASE,
)
REASONS = re.compile(
    r"\b(?:because|since|as|so that|so|due to|owing to|therefore|otherwise|in order to|for this reason|makes?|to avoid|would|or else)\b",
    re.IGNORECASE,
)


@cache
def relatives(stem: str) -> frozenset[str]:
    """The stems that may replace a stem in an answer."""
    return _relatives().get(stem, frozenset())


@cache
def _relatives() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in (*_GROUPS, *_VERBS.split(",")):
        stems = {stem for word in group.split() for stem in (analyse(word) or [word])}
        for stem in stems:
            found.setdefault(stem, set()).update(stems)
    return {stem: frozenset(group) for stem, group in found.items()}


@cache
def message_stems() -> frozenset[str]:
    """The stems of words that ask about a message itself."""
    return frozenset(stem for word in _MESSAGE_WORDS.split() for stem in analyse(word))


@cache
def are_opposites(one: str, other: str) -> bool:
    """Whether two stems are opposites, or two different members of a set, such as two days of the week or two numbers."""
    return frozenset((one, other)) in _opposites() or (one != other and any(one in kind and other in kind for kind in _kinds()))


@cache
def _kinds() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(stem for word in kind.split() for stem in analyse(word)) for kind in _KINDS)


@cache
def _opposites() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(stem for word in pair.split() for stem in analyse(word)) for pair in _OPPOSITES.split(","))

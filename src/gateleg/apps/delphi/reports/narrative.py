"""Writes the text of the report from templates: overview, groups, common ground, uncertainty, and each topic.

Needs no model. What a section says about votes are claims, which are verified before they are written (`claims`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi.reports.certainty import certainty_of
from gateleg.apps.delphi.reports.claims import (
    Agreement,
    Comparison,
    Division,
    Passing,
    Share,
    about_participants,
    is_supported,
    quote,
    state,
    whole_percent,
)
from gateleg.apps.delphi.reports.findings import with_enough_votes
from gateleg.apps.delphi.reports.sections import Clause, Paragraph, Section, Sentence, number_of, sentence
from gateleg.apps.delphi.reports.self_descriptions import sentences_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.delphi.opinions.representatives import Side
    from gateleg.apps.delphi.reports.findings import Findings, Group, Statement
    from gateleg.apps.delphi.topics.stage import Topic

#: The maximum number of comments in a list.
_MOST_NAMED = 5
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def write_sections(findings: Findings) -> list[Section]:
    """All sections: those on the whole conversation, then the topics from coarse to fine."""
    return [
        overview(findings),
        groups(findings),
        consensus(findings),
        uncertainty(findings),
        *([participants(findings)] if findings.meta else []),
        *(topic_section(findings, topic) for layer in reversed(findings.topics) for topic in layer if findings.of_topic(topic)),
    ]


def overview(findings: Findings) -> Section:
    """The size of the conversation, its groups and its topics."""
    totals = findings.totals
    size = [
        sentence(
            f"{number_of(totals.participants, 'participant')} cast {number_of(totals.votes, 'vote')}"
            f" on {number_of(totals.comments_voted_on, 'comment')}, {totals.votes_per_participant:.1f} votes each on average."
        )
    ]
    if totals.comments_out:
        were = "was" if totals.comments_out == 1 else "were"
        left = f"the {number_of(totals.comments, 'other')} and {number_of(totals.votes_shown, 'vote')} on them"
        size.append(sentence(f"{number_of(totals.comments_out, 'comment')} {were} removed by moderation; this report is about {left}."))
    if findings.groups:
        sizes = _listed([f"{group.name} with {group.size:,}" for group in findings.groups])
        alike = (
            "are all in one group" if len(findings.groups) == 1 else f"fall into {_count(len(findings.groups), 'group')} that vote alike"
        )
        size.append(sentence(f"{number_of(totals.grouped, 'participant')} voted often enough to be compared, and {alike}: {sizes}."))
    else:
        size.append(sentence("Too few of them voted often enough for groups to be found."))
    paragraphs = [
        _paragraph("size", "", size),
        _paragraph("certainty", "", _certainty(findings)),
        _paragraph("highlights", "", _highlights(findings)),
    ]
    if findings.topics:
        paragraphs.append(_paragraph("topics", "", _topic_list(findings)))
    return Section(id="overview", title="Overview", paragraphs=_filled(paragraphs))


def _certainty(findings: Findings) -> list[Sentence]:
    return [sentence(text) for text in certainty_of(findings)] if findings.groups else []


def _highlights(findings: Findings) -> list[Sentence]:
    found = []
    if shared := findings.bridging()[:1]:
        unites = "What unites the groups most:" if len(findings.groups) > 1 else "What most agree with:"
        found.append(sentence(unites, _everywhere(findings, shared[0])))
    if divided := findings.divisive()[:1]:
        found.append(sentence("What divides them most:", _divided(findings, divided[0])))
    return found


def _topic_list(findings: Findings) -> list[Sentence]:
    shown = [topic for topic in findings.topics[findings.main_layer] if findings.of_topic(topic)]
    topics = sorted(shown, key=lambda topic: (-len(findings.of_topic(topic)), topic.number))
    largest = "; ".join(f"‘{topic.name}’ ({number_of(len(findings.of_topic(topic)), 'comment')})" for topic in topics[:3])
    listed = [sentence(f"The comments fall into {_count(len(topics), 'topic')}; the largest: {largest}.")]
    return [*listed, sentence(findings.unchecked_names)] if findings.unchecked_names else listed


def groups(findings: Findings) -> Section:
    """The representative comments of each group, and the most divisive comments."""
    paragraphs = [_paragraph(f"group_{group.letter.lower()}", group.name, _about_group(findings, group)) for group in findings.groups]
    if not paragraphs:
        paragraphs = [_paragraph("none", "", [sentence("Too few participants voted often enough for groups to be found.")])]
    else:
        divided = [sentence(_divided(findings, statement)) for statement in findings.divisive()[:_MOST_NAMED]]
        paragraphs.append(_paragraph("divisive", "What the groups see differently", divided))
        paragraphs.append(_paragraph("certainty", "How reliable the groups are", _certainty(findings)))
    suggested = [sentence(text) for text in sentences_of(findings)]
    paragraphs.append(_paragraph("self_descriptions", "Comments about their authors", suggested))
    return Section(id="groups", title="Opinion groups", paragraphs=_filled(paragraphs))


def _about_group(findings: Findings, group: Group) -> list[Sentence]:
    share = group.size / max(1, findings.totals.grouped)
    found = [
        sentence(
            f"{group.name} has {number_of(group.size, 'participant')}, {share:.0%} of the {findings.totals.grouped:,} who were grouped."
        )
    ]
    known = [one for one in group.representatives if one.comment_id in findings.statements]
    shown = [one for one in known if findings.statements[one.comment_id].groups[group.place].enough]
    # The comment that a group agrees on most may be one that everybody agrees on: it does not set the group apart.
    apart = [one for one in shown if is_supported(Comparison(comment=one.comment_id, side=one.side, group=group.letter), findings)]
    clear = [one for one in shown if one not in apart]
    for title, listed in ((f"What sets {group.name} apart:", apart), (f"What {group.name} is clearest about:", clear)):
        if listed:
            found.append(sentence(title))
            found.extend(sentence(state(Share(comment=one.comment_id, side=one.side, group=group.letter), findings)) for one in listed)
    return found


def consensus(findings: Findings) -> Section:
    """The comments that all groups agree with, and those that most participants agree or disagree with."""
    shared = findings.bridging()[:_MOST_NAMED]
    paragraphs = []
    heading = "What every group agrees with" if len(findings.groups) > 1 else "What a clear majority agrees with"
    if shared:
        paragraphs.append(_paragraph("bridging", heading, [sentence(_everywhere(findings, one)) for one in shared]))
    elif len(findings.groups) > 1:
        nothing = "No comment has the clear agreement of a majority of every group."
        paragraphs.append(_paragraph("bridging", heading, [sentence(nothing)]))
    seen = {statement.comment_id for statement in shared}
    most = {side: [findings.statements[number] for number in numbers] for side, numbers in _most(findings)}
    for side, statements in most.items():
        rest = [one for one in statements if one.comment_id not in seen]
        sentences = [sentence(_overall(findings, one, side)) for one in rest if one.everybody.side == side]
        paragraphs.append(_paragraph(side, f"What most participants {side} with", sentences))
    if not any(part.sentences for part in paragraphs):
        paragraphs = [_paragraph("none", "", [sentence("No comment has a clear majority yet.")])]
    return Section(id="group_informed_consensus", title="Common ground", paragraphs=_filled(paragraphs))


def _most(findings: Findings) -> tuple[tuple[Side, tuple[int, ...]], ...]:
    sides: tuple[tuple[Side, tuple[int, ...]], ...] = (("agree", findings.agreed), ("disagree", findings.disagreed))
    return tuple((side, with_enough_votes(numbers, findings.statements)) for side, numbers in sides)


def uncertainty(findings: Findings) -> Section:
    """Comments that many passed on or few voted on, and how evenly people took part."""
    unsure = findings.uncertain()[:_MOST_NAMED]
    few = sum(not statement.everybody.enough for statement in findings.statements.values())
    paragraphs = [_paragraph("passes", "What many pass on", [sentence(_passed(findings, statement)) for statement in unsure])]
    sentences = []
    if few:
        sentences.append(sentence(f"{number_of(few, 'comment')} had too few votes to say anything about."))
    if findings.groups and (left := findings.totals.participants - findings.totals.grouped):
        sentences.append(sentence(f"{number_of(left, 'participant')} voted too rarely to be in a group."))
    paragraphs.append(_paragraph("few_votes", "Where votes are missing", sentences))
    paragraphs.append(_paragraph("heard", "Who was not heard", _heard(findings)))
    if not any(part.sentences for part in paragraphs):
        paragraphs = [_paragraph("none", "", [sentence("Hardly anybody passed on a comment, and every comment had enough votes.")])]
    return Section(id="uncertainty", title="Uncertainty", paragraphs=_filled(paragraphs))


def participants(findings: Findings) -> Section:
    """What participants say about themselves: comments that moderators have marked so. They have no part in groups and topics."""
    told = sorted(findings.meta, key=lambda one: (-one.everybody.share("agree"), one.comment_id))
    shown = [sentence(about_participants(statement)) for statement in told if statement.everybody.enough]
    few = len(findings.meta) - len(shown)
    rest = [sentence(f"{number_of(few, 'comment')} about participants had too few votes for a share.")] if few else []
    return Section(
        id="participants",
        title="What participants say about themselves",
        paragraphs=_filled([_paragraph("meta", "", shown), _paragraph("few", "", rest)]),
    )


def _heard(findings: Findings) -> list[Sentence]:
    """How evenly people took part; empty if there is nothing to note."""
    known, found = findings.participation, []
    if known.rare:
        cast = f"together {known.rare_votes:,} of the {number_of(known.votes, 'vote')}"
        found.append(
            sentence(f"{known.rare:,} of {number_of(known.participants, 'participant')} cast fewer than seven votes each, {cast}.")
        )
    if known.busiest:
        who = f"The busiest tenth of the participants, {known.busiest:,} of them,"
        found.append(sentence(f"{who} cast {whole_percent(known.busiest_votes / known.votes)}% of the {number_of(known.votes, 'vote')}."))
    if known.first_quarter is not None and known.last_quarter is not None:
        first, last = (whole_percent(count / known.votes) for count in (known.first_quarter, known.last_quarter))
        when = "the first quarter of the time between the first vote and the last"
        found.append(sentence(f"{first}% of the {number_of(known.votes, 'vote')} were cast in {when}, {last}% in the last quarter."))
    if known.seldom_seen:
        of = f"{known.seldom_seen:,} of {number_of(known.comments, 'comment')}"
        found.append(sentence(f"{of} received votes from fewer than a tenth of the participants."))
    return found


def topic_section(findings: Findings, topic: Topic) -> Section:
    """A typical comment of a topic, and its shared, divisive and uncertain comments."""
    members = findings.of_topic(topic)
    votes = sum(statement.everybody.votes for statement in members)
    sentences = [sentence(f"{number_of(len(members), 'comment')} with {number_of(votes, 'vote')} in all.")]
    examples = [findings.statements[number] for number in topic.examples if number in findings.statements][:1]
    sentences.extend(sentence("A typical comment:", (quote(statement), (statement.comment_id,))) for statement in examples)
    inside = {statement.comment_id for statement in members}
    paragraphs = [_paragraph("about", "", sentences)]
    shared = [one for one in findings.bridging() if one.comment_id in inside][:2]
    divided = [one for one in findings.divisive() if one.comment_id in inside][:2]
    unsure = [one for one in findings.uncertain() if one.comment_id in inside][:1]
    paragraphs.append(
        _paragraph(
            "shared",
            "Shared by all groups" if len(findings.groups) > 1 else "Agreed",
            [sentence(_everywhere(findings, one)) for one in shared],
        )
    )
    paragraphs.append(_paragraph("divided", "Divided", [sentence(_divided(findings, one)) for one in divided]))
    paragraphs.append(_paragraph("unsure", "Unsure", [sentence(_passed(findings, one)) for one in unsure]))
    if not shared and not divided:
        clear = [one for one in members if one.everybody.enough and one.everybody.side != "divided"]
        best = sorted(clear, key=lambda one: -abs(one.everybody.share("agree") - one.everybody.share("disagree")))[:1]
        stated = [_overall(findings, one, "agree" if one.everybody.side == "agree" else "disagree") for one in best]
        paragraphs.append(_paragraph("clearest", "Clearest", [sentence(one) for one in stated]))
    return Section(id=topic.key, title=topic.name, paragraphs=_filled(paragraphs))


def _everywhere(findings: Findings, statement: Statement) -> Clause:
    return state(Agreement(comment=statement.comment_id), findings)


def _divided(findings: Findings, statement: Statement) -> Clause:
    """The group that agrees most, and the one that disagrees most."""
    enough = [(count, group) for count, group in zip(statement.groups, findings.groups, strict=True) if count.enough]
    most = max(enough, key=lambda pair: (pair[0].share("agree"), -pair[1].place))
    least = max(enough, key=lambda pair: (pair[0].share("disagree"), -pair[1].place))
    return state(Division(comment=statement.comment_id, agreeing=most[1].letter, disagreeing=least[1].letter), findings)


def _overall(findings: Findings, statement: Statement, side: Side) -> Clause:
    return state(Share(comment=statement.comment_id, side=side), findings)


def _passed(findings: Findings, statement: Statement) -> Clause:
    return state(Passing(comment=statement.comment_id), findings)


def _count(count: int, noun: str) -> str:
    word = _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"
    return f"{word} {noun}" if count == 1 else f"{word} {noun}s"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _paragraph(identifier: str, title: str, sentences: Sequence[Sentence]) -> Paragraph:
    return Paragraph(id=identifier, title=title, sentences=tuple(sentences))


def _filled(paragraphs: Sequence[Paragraph]) -> tuple[Paragraph, ...]:
    return tuple(paragraph for paragraph in paragraphs if paragraph.sentences)

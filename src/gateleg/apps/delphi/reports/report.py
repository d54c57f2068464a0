"""The report: one self-contained HTML file for screens (light and dark), print and screen readers.

It loads nothing and runs no script. Text from participants is always escaped. Its data are embedded as CSV files for download.
"""

from __future__ import annotations

from base64 import b64encode
from importlib.resources import files
from typing import TYPE_CHECKING

from gateleg.apps.delphi.opinions.modes import how_found
from gateleg.apps.delphi.reports.certainty import verdict_of
from gateleg.apps.delphi.reports.config import REPLAY
from gateleg.apps.delphi.reports.figures import cite_link, statement_card, vote_key
from gateleg.apps.delphi.reports.maps import consensus_map, groups_map, topics_map
from gateleg.apps.delphi.reports.markup import Markup, joined, raw, tag
from gateleg.apps.delphi.reports.moments import HOW, growth_chart, moments_table
from gateleg.apps.delphi.reports.sections import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gateleg.apps.delphi.reports.findings import Count, Findings, Statement
    from gateleg.apps.delphi.reports.sections import Paragraph, Section
    from gateleg.apps.delphi.topics.stage import Topic

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_MOST_SHOWN = 5
_MOST_RANKED = 15
_CHAPTERS = (
    ("overview", "Overview"),
    ("groups", "Opinion groups"),
    ("common", "Common ground"),
    ("divided", "What divides"),
    ("uncertainty", "Uncertainty"),
    ("participants", "What participants say about themselves"),
    ("topics", "Topics"),
    ("all", "All comments"),
    ("data", "Data and method"),
)


def write_report(
    findings: Findings,
    sections: Sequence[Section],
    data: Mapping[str, str] | None = None,
    written_by: str = "templates",
    *,
    has_replay: bool = False,
) -> str:
    """The report as HTML.

    `data` has CSV files by name, `written_by` names the author of the sections. With `has_replay` the report refers to `replay.html`, which
    must be in the same folder.
    """
    by_id = {section.id: section for section in sections}
    chapters = [
        _overview(findings, by_id),
        _groups(findings, by_id, has_replay),
        _common(findings, by_id),
        _divided(findings),
        _uncertainty(findings, by_id),
        _participants(findings, by_id),
        _topics(findings, by_id),
        _all(findings),
        _data(findings, data or {}, written_by),
    ]
    main = tag("main", {"id": "main"}, [chapter for chapter in chapters if chapter is not None])
    return page(f"{findings.title}: report", joined([_top(findings), main]))


def page(title: str, body: Markup, styles: Sequence[str] = ("page.css", "statements.css"), policy: str = _POLICY) -> str:
    """A self-contained HTML page."""
    head = [
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "referrer", "content": "no-referrer"}),
        tag("title", None, title),
        *(tag("style", None, raw(static(name))) for name in styles),
    ]
    return "<!doctype html>\n" + tag("html", {"lang": "en"}, tag("head", None, head), tag("body", None, body))


def static(name: str) -> str:
    """The text of a static file that is embedded in pages."""
    return (files("gateleg.apps.delphi.reports") / "static" / name).read_text(encoding="utf-8")


def _top(findings: Findings) -> Markup:
    links = [tag("li", None, tag("a", {"href": f"#{key}"}, title)) for key, title in _CHAPTERS if key != "participants" or findings.meta]
    return tag(
        "header",
        {"class": "top"},
        tag("a", {"class": "skip", "href": "#main"}, "Skip to the report"),
        tag("h1", {"dir": "auto", "translate": "no"}, findings.title),
        tag("p", {"class": "lead", "dir": "auto", "translate": "no"}, findings.description) if findings.description else None,
        tag("nav", {"aria-label": "Contents"}, tag("ul", None, links)),
    )


def _chapter(key: str, *children: Markup | Iterable[Markup] | None) -> Markup:
    title = dict(_CHAPTERS)[key]
    return tag("section", {"id": key, "aria-labelledby": f"h-{key}"}, tag("h2", {"id": f"h-{key}"}, title), *children)


def _prose(section: Section | None, only: Sequence[str] | None = None) -> list[Markup]:
    if section is None:
        return []
    return [part for paragraph in section.paragraphs if only is None or paragraph.id in only for part in _paragraph(paragraph)]


def _paragraph(paragraph: Paragraph) -> list[Markup]:
    """A paragraph. If several sentences cite comments, these sentences become a list."""
    found = [tag("h4", None, paragraph.title)] if paragraph.title else []
    lines = [
        joined([*(joined([clause.text, *map(cite_link, clause.citations), " "]) for clause in sentence.clauses)])
        for sentence in paragraph.sentences
    ]
    citing = [any(clause.citations for clause in sentence.clauses) for sentence in paragraph.sentences]
    if sum(citing) > 1:
        plain = [line for line, cites in zip(lines, citing, strict=True) if not cites]
        found += [tag("p", None, joined(plain))] if plain else []
        found.append(
            tag("ul", {"class": "list"}, (tag("li", {"dir": "auto"}, line) for line, cites in zip(lines, citing, strict=True) if cites))
        )
    else:
        found.append(tag("p", {"dir": "auto"}, joined(lines)))
    return found


def _overview(findings: Findings, sections: Mapping[str, Section]) -> Markup:
    totals = findings.totals
    numbers = [
        ("people voted", f"{totals.participants:,}"),
        ("people grouped", f"{totals.grouped:,}"),
        ("votes cast", f"{totals.votes:,}"),
        ("comments shown", f"{totals.comments:,}"),
        ("votes on these", f"{totals.votes_shown:,}"),
        ("votes per voter", f"{totals.votes_per_participant:.1f}"),
        ("opinion groups", f"{len(findings.groups)}"),
    ]
    listed = [tag("div", None, tag("dt", None, name), tag("dd", None, value)) for name, value in numbers]
    return _chapter("overview", tag("dl", {"class": "numbers"}, listed), _prose(sections.get("overview")))


def _groups(findings: Findings, sections: Mapping[str, Section], has_replay: bool) -> Markup:
    if not findings.groups:
        return _chapter("groups", _prose(sections.get("groups")))
    blocks = []
    for group in findings.groups:
        cards = [findings.statements[one.comment_id] for one in group.representatives if one.comment_id in findings.statements]
        blocks.append(tag("h3", None, f"{group.name}: {number_of(group.size, 'participant')}"))
        blocks += [part for part in _prose(sections.get("groups"), [f"group_{group.letter.lower()}"]) if not part.startswith("<h4")]
        blocks.append(_folded("Votes on these comments", [statement_card(findings, statement) for statement in cards]))
    blocks += _prose(sections.get("groups"), ["certainty", "self_descriptions"])
    blocks += _over_time(findings, has_replay)
    picture = _picture(
        groups_map(findings),
        "Each point is a participant; those who vote alike lie close together. The outline encloses nine tenths of a group.",
    )
    verdict = verdict_of(findings)
    return _chapter(
        "groups", tag("p", {"class": "verdict"}, f"{verdict[0].upper()}{verdict[1:]}.") if verdict else None, picture, vote_key(), blocks
    )


def _over_time(findings: Findings, has_replay: bool) -> list[Markup]:
    """How the groups formed; empty if all votes have the same time."""
    if not findings.moments:
        return []
    caption = "People by group over the votes cast; grey: people without a group."
    if has_replay:
        caption += f" {REPLAY}, in the same folder, animates it."
    figure = _picture(growth_chart(findings), caption)
    return [
        tag("h3", None, "How the groups formed"),
        figure,
        _folded("As a table", [tag("p", {"class": "note"}, HOW), moments_table(findings)]),
    ]


def _common(findings: Findings, sections: Mapping[str, Section]) -> Markup:
    shared = findings.bridging()[:_MOST_SHOWN]
    return _chapter(
        "common",
        _prose(sections.get("group_informed_consensus")),
        _bridges(findings),
        _folded(
            f"Votes on what {'every group' if len(findings.groups) > 1 else 'a clear majority'} agrees with",
            [statement_card(findings, statement) for statement in shared],
            is_open=True,
        ),
    )


def _bridges(findings: Findings) -> Markup | None:
    """Bridging comments, ranked by the lower bound in the group that agrees least, with the interval of every group."""
    # Comments without a majority in some group are left out here; data/bridging.csv has them too.
    ranked = [one for one in findings.bridges() if all(count.share("agree") > 0.5 for count in one.groups)][:_MOST_RANKED]
    if len(findings.groups) < 2 or not ranked:
        return None
    titles = ["Rank", "Comment", *(f"{group.letter}: agree" for group in findings.groups)]
    head = tag("tr", None, (tag("th", {"scope": "col", "class": None if title == "Comment" else "number"}, title) for title in titles))
    rows = [
        tag(
            "tr",
            None,
            tag("td", {"class": "number"}, str(rank)),
            tag("td", {"class": "text", "dir": "auto", "translate": "no"}, statement.body, cite_link(statement.comment_id)),
            (tag("td", {"class": "number"}, _with_interval(count)) for count in statement.groups),
        )
        for rank, statement in enumerate(ranked, 1)
    ]
    table = tag("table", {"class": "all"}, tag("thead", None, head), tag("tbody", None, rows))
    note = (
        "Comments that a majority of every group agrees with, ranked by the lower bound of agreement in the group where it is lowest. In "
        "brackets: the 95% interval of the share."
    )
    wide = tag("div", {"class": "wide", "tabindex": 0, "role": "region", "aria-label": "What bridges groups, ranked"}, table)
    return _folded("What bridges the groups, ranked", [tag("p", {"class": "note"}, note), wide])


def _with_interval(count: Count) -> str:
    low, high = count.interval("agree")
    return f"{count.share('agree'):.0%} of {count.votes:,} ({100 * low:.0f}–{100 * high:.0f})"


def _divided(findings: Findings) -> Markup:
    divided = findings.divisive()[:_MOST_SHOWN]
    note = "Comments that a majority of one group agrees with and a majority of another disagrees with, most divisive first."
    if not divided:
        note = "There is no comment with which a majority of one group agrees and a majority of another disagrees."
    drawn = any(statement.position for statement in findings.statements.values())
    caption = (
        "The map of comments: similar ones lie close together. Blue: groups vote alike. Orange: groups differ. Empty: not enough votes."
    )
    return _chapter(
        "divided",
        tag("p", None, note),
        [statement_card(findings, statement) for statement in divided],
        _picture(consensus_map(findings), caption) if drawn else None,
    )


def _uncertainty(findings: Findings, sections: Mapping[str, Section]) -> Markup:
    unsure = findings.uncertain()[:_MOST_SHOWN]
    return _chapter(
        "uncertainty",
        _prose(sections.get("uncertainty")),
        _folded("Votes on what many pass on", [statement_card(findings, statement) for statement in unsure]),
    )


def _participants(findings: Findings, sections: Mapping[str, Section]) -> Markup | None:
    """Comments that moderators have marked as being about participants; None without any."""
    if not findings.meta:
        return None
    note = "Moderators have marked these comments as being about participants. They have no part in groups, common ground and topics."
    cards = [
        tag("li", {"id": f"c{one.comment_id}", "dir": "auto", "translate": "no"}, one.body, cite_link(one.comment_id))
        for one in findings.meta
    ]
    return _chapter(
        "participants",
        tag("p", {"class": "note"}, note),
        _prose(sections.get("participants")),
        _folded("All comments about participants", [tag("ul", {"class": "list"}, cards)]),
    )


def _topics(findings: Findings, sections: Mapping[str, Section]) -> Markup:
    if not findings.topics:
        return _chapter("topics", tag("p", None, "The comments were not divided into topics."))
    coarse = findings.topics[-1]
    caption = "Each mark is a comment, larger with more votes. Similar comments lie close together; colour and shape show their topic."
    return _chapter(
        "topics",
        _language_note(findings),
        tag("p", {"class": "warning", "role": "note"}, findings.unchecked_names) if findings.unchecked_names else None,
        _picture(topics_map(findings), caption),
        [_topic(findings, sections, topic) for topic in coarse if findings.of_topic(topic)],
    )


def _language_note(findings: Findings) -> Markup | None:
    """A warning if the embedding model does not know the language of the comments."""
    if not findings.from_words or findings.known_words is None:
        return None
    warning = (
        f"The embedding model knows {findings.known_words:.0%} of the words of these comments, too few to understand them. Topics are "
        "based on shared words and on votes, and are less precise than usual. Choose another embedding model to improve them."
    )
    return tag("p", {"class": "warning", "role": "note"}, warning)


def _topic(findings: Findings, sections: Mapping[str, Section], topic: Topic) -> Markup:
    """A topic with its finer topics, or with its comments at the finest layer."""
    members = findings.of_topic(topic)
    children = [child for key in topic.children if (child := findings.topic(key)) is not None and findings.of_topic(child)]
    words = ", ".join(keyword.term for keyword in topic.keywords[:8])
    inner: list[Markup] = (
        [tag("p", {"class": "words", "dir": "auto"}, "Keywords: ", tag("span", {"translate": "no"}, words))] if words else []
    )
    inner += _prose(sections.get(topic.key))
    if len(children) > 1:
        inner += [_topic(findings, sections, child) for child in children]
    else:
        inner.append(
            _folded(
                "Its comment" if len(members) == 1 else f"All {len(members)} comments",
                [statement_card(findings, statement) for statement in members],
            )
        )
    title = tag(
        "summary",
        {"dir": "auto"},
        tag("span", {"translate": "no"}, topic.name),
        " ",
        tag("span", {"class": "note"}, number_of(len(members), "comment")),
    )
    return tag("details", {"class": "topic", "open": topic.parent is None, "id": topic.key}, title, inner)


def _all(findings: Findings) -> Markup:
    titles = [
        "#",
        "Comment",
        "Topic",
        "Votes",
        "Agree",
        "Disagree",
        "Pass",
        *(f"{group.letter}: agree" for group in findings.groups),
        "Divides",
    ]
    head = tag(
        "tr", None, (tag("th", {"scope": "col", "class": None if title in {"Comment", "Topic"} else "number"}, title) for title in titles)
    )
    rows = [_table_row(findings, statement) for statement in findings.statements.values()]
    table = tag("table", {"class": "all"}, tag("thead", None, head), tag("tbody", None, rows))
    return _chapter("all", tag("div", {"class": "wide", "tabindex": 0, "role": "region", "aria-label": "All comments"}, table))


def _table_row(findings: Findings, statement: Statement) -> Markup:
    count = statement.everybody
    topic = findings.topic(statement.topics[findings.main_layer]) if statement.topics else None
    shares = [f"{count.share(side):.0%}" if count.enough else "–" for side in ("agree", "disagree", "pass")]
    groups = [f"{one.share('agree'):.0%} of {one.votes:,}" if one.enough else "–" for one in statement.groups]
    divides = f"{statement.divisiveness:.2f}" if sum(one.enough for one in statement.groups) > 1 else "–"
    numbers = [f"{count.votes:,}", *shares, *groups, divides]
    return tag(
        "tr",
        {"id": f"c{statement.comment_id}"},
        tag("td", {"class": "number"}, str(statement.comment_id)),
        tag("td", {"class": "text", "dir": "auto", "translate": "no"}, statement.body),
        tag("td", {"dir": "auto", "translate": "no"}, topic.name if topic else "–"),
        (tag("td", {"class": "number"}, number) for number in numbers),
    )


def _data(findings: Findings, data: Mapping[str, str], written_by: str) -> Markup:
    links = [
        tag(
            "li",
            None,
            tag("a", {"download": name, "href": f"data:text/csv;charset=utf-8;base64,{b64encode(text.encode()).decode()}"}, name),
        )
        for name, text in data.items()
    ]
    method = (
        "Participants with enough votes are placed on a map by principal component analysis of the votes, and grouped by k-means. "
        f"{how_found(findings.mode, findings.replayed, findings.order, findings.certainty.division)} A comment "
        "is shared if the lower bound of agreement exceeds one half in every group, and divisive if majorities of two groups take opposite "
        "sides. Bounds are those of Wilson's 95% intervals; shares of fewer than five votes are not shown. Topics are based on "
        f"{'the words of the comments and the votes on them' if findings.from_words else 'the meaning of the comments, not on the votes'}."
    )
    chosen = [name for name in written_by.split(" and ") if name != "templates"]
    checked = (
        "The text of this report was written from templates. Every statement in it about votes on a comment was verified against the votes "
        "before it was written."
    )
    if chosen:
        checked += f" In some sections, {' and '.join(chosen)} chose which of these statements to make; no text of a model was used."
    return _chapter("data", tag("ul", {"class": "downloads"}, links) if links else None, tag("p", None, method), tag("p", None, checked))


def _picture(picture: Markup, caption: str) -> Markup:
    return tag("figure", {"class": "picture"}, picture, tag("figcaption", None, caption))


def _folded(title: str, cards: Sequence[Markup], is_open: bool = False) -> Markup:
    return tag("details", {"open": is_open}, tag("summary", None, title), cards) if cards else Markup("")

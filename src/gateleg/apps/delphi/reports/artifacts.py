"""The files of a report, by name: the report, the interactive map, pictures and data. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from gateleg.apps.delphi.reports.config import MAP, REPLAY, REPORT, SUMMARY, TIMELINE, translated_name
from gateleg.apps.delphi.reports.csv_files import bridging_comments, comment_clusters, comment_groups, opinion_groups, participant_votes
from gateleg.apps.delphi.reports.explorer import write_explorer
from gateleg.apps.delphi.reports.maps import consensus_map, groups_map, topics_map
from gateleg.apps.delphi.reports.moments import moments_csv, replay_data
from gateleg.apps.delphi.reports.replay import write_replay
from gateleg.apps.delphi.reports.report import write_report
from gateleg.apps.delphi.reports.summary import write_summary
from gateleg.apps.delphi.reports.translation import translate_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gateleg.ai import Chat
    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix
    from gateleg.apps.delphi.reports.config import Visualization
    from gateleg.apps.delphi.reports.findings import Findings
    from gateleg.apps.delphi.reports.sections import Section


def make_artifacts(
    findings: Findings,
    sections: Sequence[Section],
    data: Mapping[str, str],
    written_by: str = "templates",
    matrix: VoteMatrix | None = None,
    visualizations: Collection[Visualization] = ("basic", "enhanced", "multilayer"),
) -> dict[str, bytes]:
    """The files of a report. `data` are its CSV files, `matrix` the votes (for the map of participants), `visualizations` the maps."""
    has_replay = "enhanced" in visualizations and bool(findings.moments)
    found: dict[str, str] = {
        REPORT: write_report(findings, sections, data, written_by, has_replay=has_replay),
        SUMMARY: write_summary(findings, sections),
    }
    if "enhanced" in visualizations:
        found[MAP] = write_explorer(findings, matrix)
        found |= {REPLAY: write_replay(findings)} if has_replay else {}
    if "basic" in visualizations:
        found |= {"maps/groups.svg": groups_map(findings), "maps/consensus.svg": consensus_map(findings)}
    if "multilayer" in visualizations:
        found |= {f"maps/layer_{layer}.svg": topics_map(findings, layer) for layer in range(len(findings.topics))}
    found |= {f"data/{name}": text for name, text in data.items()}
    narrative = orjson.dumps([section.model_dump() for section in sections], option=orjson.OPT_INDENT_2)
    # Characters that UTF-8 cannot encode were replaced on the pages; in data they become question marks.
    files = {name: text.encode(errors="replace") for name, text in found.items()} | {"data/narrative.json": narrative}
    return files | ({TIMELINE: orjson.dumps(replay_data(findings))} if findings.moments else {})


def translated_files(
    chat: Chat, files: Mapping[str, bytes], language: str, report: Callable[[float], object] = lambda done: None
) -> dict[str, bytes]:
    """The translated pages of a report, by their new names."""
    pages = {name: files[name].decode() for name in (REPORT, SUMMARY, MAP, REPLAY) if name in files}
    translated = translate_pages(chat, pages, language, report)
    return {translated_name(name, language): text.encode() for name, text in translated.items()}


def data_files(findings: Findings, matrix: VoteMatrix, comments: Iterable[Comment]) -> dict[str, str]:
    """The CSV files of a conversation, in Polis's formats."""
    labels = zip(matrix.participants.tolist(), findings.people_groups.tolist(), strict=True)
    group_of = {person: findings.groups[label].group_id for person, label in labels if label >= 0}
    files = {
        "participant-votes.csv": participant_votes(matrix, group_of, comments),
        "comment-groups.csv": comment_groups(findings),
        "groups.csv": opinion_groups(findings),
        "bridging.csv": bridging_comments(findings),
    }
    files |= {"comment-clusters.csv": comment_clusters(findings)} if findings.topics else {}
    return files | ({"timeline.csv": moments_csv(findings)} if findings.moments else {})


def content_type(name: str) -> str:
    """The media type of a file."""
    kinds = {
        "html": "text/html; charset=utf-8",
        "svg": "image/svg+xml",
        "csv": "text/csv; charset=utf-8",
        "json": "application/json",
        "pdf": "application/pdf",
        "png": "image/png",
    }
    return kinds[name.rpartition(".")[2]]

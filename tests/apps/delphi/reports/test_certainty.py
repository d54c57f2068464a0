"""Readers are told how far groups can be trusted, everywhere in the same words."""

from dataclasses import replace

import pytest

from gateleg.apps.delphi.opinions.modes import DIVISIONS, Division
from gateleg.apps.delphi.reports.artifacts import data_files, make_artifacts
from gateleg.apps.delphi.reports.certainty import certainty_of, verdict_of
from gateleg.apps.delphi.reports.findings import Certainty, Findings
from gateleg.apps.delphi.reports.narrative import write_sections
from tests.apps.delphi.told import findings, opinions, synthetic


def known(stability: float | None, as_strong: int, groups: int | None = None) -> Findings:
    base = findings()
    shown = base.groups if groups is None else base.groups[:groups]
    statements = {number: replace(one, groups=one.groups[: len(shown)]) for number, one in base.statements.items()}
    return replace(base, groups=shown, statements=statements, certainty=Certainty(stability, 99, as_strong))


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        (known(0.93, 0), "the groups are stable"),
        (known(0.6, 0), "the groups are mostly stable, but people between them could be in either"),
        (known(0.3, 0), "the groups are unstable, a tendency rather than camps"),
        (known(0.3, 12), "these groups may be due to chance"),
        (known(None, 12, 1), "no groups found: the differences may be due to chance"),
        (known(None, 0, 1), "no groups found"),
    ],
)
def test_the_verdict_says_what_was_found(told: Findings, verdict: str) -> None:
    assert verdict_of(told) == verdict
    assert all(sentence in write_sections(told)[0].text for sentence in certainty_of(told))


def test_chance_is_told_in_report_map_and_data() -> None:
    told = known(0.31, 7)
    data = data_files(told, opinions().matrix, synthetic().conversation.comments)
    files = make_artifacts(told, write_sections(told), data)
    assert "in 7 of these shuffles. So these groups may be due to chance." in files["report.html"].decode()
    assert "a stability of 0.31" in files["report.html"].decode()
    assert "These groups may be due to chance." in files["map.html"].decode()
    assert "in 7 of these shuffles" in files["data/narrative.json"].decode()
    assert files["data/groups.csv"].decode().splitlines()[1].endswith(",0.31,99,7,")


def test_one_group_is_said_to_be_none() -> None:
    assert certainty_of(known(None, 40, 1))[0].startswith("No groups were found.")


def test_runs_that_did_not_look_say_nothing() -> None:
    assert certainty_of(replace(findings(), certainty=Certainty())) == []


@pytest.mark.parametrize("division", [one for one, told in DIVISIONS.items() if told])
def test_which_division_was_taken_is_told_in_report_and_data(division: Division) -> None:
    told = known(0.93, 0)
    told = replace(told, certainty=replace(told.certainty, division=division))
    sections = write_sections(told)
    files = make_artifacts(told, sections, data_files(told, opinions().matrix, synthetic().conversation.comments))
    assert DIVISIONS[division] in files["report.html"].decode()
    assert files["data/groups.csv"].decode().splitlines()[1].endswith(f",99,0,{division}")

"""Reports in another language, by a server on this machine that speaks a model's protocol."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import orjson
import pytest
from pydantic import ValidationError

from gateleg.ai import Models, ModelSettings, ModelUnreachable
from gateleg.apps.delphi.reports.config import ReportConfig
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.report import write_report
from gateleg.apps.delphi.reports.translation import localise, mask, rewrite, texts_of, translate_pages
from tests.apps.delphi.answering import answering
from tests.apps.delphi.told import findings

Turn = Callable[[str], str]


@contextmanager
def translating(turn: Turn, asked: list[str]) -> Iterator[str]:
    """A server that answers as OpenAI's does, each passage turned; the address of its model."""

    def translate(text: str) -> str:
        asked.append(text)
        return orjson.dumps({"lines": [turn(line.partition(") ")[2]) for line in text.splitlines()]}).decode()

    with answering(translate) as address:
        yield address


def foreign(passage: str) -> str:
    """A passage in a language in which every word begins with an x; places stay."""
    return re.sub(r"[^\W\d_]+", lambda word: f"x{word.group(0)}", passage)


@cache
def page() -> str:
    return write_report(findings(), write_sections(findings()))


def translated(turn: Turn, language: str = "de", text: str | None = None) -> tuple[str, list[str]]:
    """A page in another language, and what the model was asked."""
    asked: list[str] = []
    with translating(turn, asked) as address, Models() as models:
        found = translate_pages(models.chat(address), {"report.html": text or page()}, language)
    return found["report.html"], asked


def figures(text: str) -> list[str]:
    """All figures of a page, without how a language writes them."""
    plain = re.sub(r"<style.*?</style>|<script.*?</script>", "", text, flags=re.DOTALL)
    return sorted(re.findall(r"\d+", re.sub(r"(?<=\d)[.,\u202f](?=\d)", "", re.sub(r"<[^>]*>", " ", plain))))


def test_every_figure_and_every_comment_of_the_report_is_in_its_translation() -> None:
    found, asked = translated(foreign)
    assert '<html lang="de">' in found
    assert "xOverview" in found
    assert ">Overview<" not in found
    note = re.search(r"<p class=\"note\">(xTranslated[^<]*)</p></main>", found)
    assert note is not None
    assert " 0 xof" in note.group(1)
    notice = re.search(r'<main id="main">(<p class="warning"[^>]*>Translated by a model [^<]*the wording was not[^<]*</p>)', found)
    assert notice is not None
    assert figures(found.replace(note.group(0), "</main>").replace(notice.group(1), "")) == figures(page())
    bodies = [re.escape(one.body) for one in findings().statements.values()]
    assert [len(re.findall(body, found)) for body in bodies] == [len(re.findall(body, page())) for body in bodies]
    # The model sees no figure and nothing that participants wrote.
    passages = [line.partition(") ")[2] for text in asked for line in text.splitlines()]
    assert not [one for one in passages if re.search(r"\d", re.sub(r"\{\d+\}", "", one))]
    assert not [one for one in findings().statements.values() if one.body in "\n".join(asked)]
    # Sentences that differ by their figures alone are translated once.
    assert len(passages) == len(set(passages)) < len(list(texts_of(page()))) / 3


@pytest.mark.parametrize(
    "turn",
    [
        lambda passage: foreign(passage).replace("{1}", ""),
        lambda passage: f"{foreign(passage)} {{1}}",
        lambda passage: f"{foreign(passage)} 7",
        lambda passage: "",
    ],
    ids=["lost", "twice", "added", "empty"],
)
def test_a_passage_whose_figures_do_not_survive_stays_in_english(turn: Turn) -> None:
    text = '<!doctype html>\n<html lang="en"><main><p>80% of 25 in Group A agree.</p></main></html>'
    found, _ = translated(turn, text=text)
    assert "80% of 25 in Group A agree." in found
    assert "1 of 1 sentences were left in English" in found


def test_the_shares_of_two_groups_may_not_change_places() -> None:
    [found] = mask("80% of 25 in Group A agree, 30% of 40 in Group B disagree: “No”")
    assert found.kept == ("80%", "25", "A", "30%", "40", "B", "“No”")
    assert found.fault("xin xGroup {3} {1} xvon {2} xagree, {4} xvon {5} xin {6} xdisagree: {7}") == ""
    assert "may be swapped" in found.fault("{4} xof {2} xin xGroup {3} xagree, {1} xof {5} xin xGroup {6} xdisagree: {7}")


@pytest.mark.parametrize(("language", "figure"), [("de", "1.234,5%"), ("fr-CA", "1\u202f234,5%"), ("ja", "1,234.5%"), ("en", "1,234.5%")])
def test_figures_are_written_as_the_language_writes_them(language: str, figure: str) -> None:
    assert localise("1,234.5%", language) == figure
    assert localise("“1,234.5%”", language) == "“1,234.5%”"


def test_what_is_not_to_be_translated_and_what_is_no_text_stay_to_the_last_byte() -> None:
    assert rewrite(page(), lambda passage: passage) == page()
    text = '<p translate="no">One <b>two</b></p><p aria-label="three">four &amp; five</p><style>six</style>'
    assert list(texts_of(text)) == ["three", "four & five"]


@pytest.mark.parametrize("turn", [foreign, lambda passage: ""], ids=["translated", "left-in-english"])
def test_a_translated_page_names_the_translated_pages_beside_it(turn: Turn) -> None:
    pages = {
        "report.html": '<html lang="en"><main><p>replay.html, beside this report, plays it. data.html does not.</p></main></html>',
        "replay.html": '<html lang="en"><main><p>All is in the report.</p></main></html>',
    }
    with translating(turn, []) as address, Models() as models:
        found = translate_pages(models.chat(address), pages, "de")["report.html"]
    assert "replay.de.html" in found
    assert "replay.html" not in found
    assert "data.html" in found


def test_a_model_that_cannot_be_reached_is_an_error() -> None:
    with Models(ModelSettings(attempts=1)) as models, pytest.raises(ModelUnreachable):
        translate_pages(models.chat("openai:test@http://127.0.0.1:9/v1"), {"report.html": "<main><p>Overview</p></main>"}, "de")


def test_another_language_needs_a_model() -> None:
    with pytest.raises(ValidationError, match="language 'de' needs a model that translates"):
        ReportConfig(language="de")
    assert ReportConfig(language="de", translator="ollama:llama3.2").models == ("ollama:llama3.2",)
    assert ReportConfig(language="de", model="claude-3").translator_address == "anthropic:claude-3"
    assert ReportConfig(translator="ollama:llama3.2").models == ()


def test_a_passage_is_translated_sentence_by_sentence() -> None:
    first, second = mask("1,204 of 2,000, Group B has 3. “One. Two” is what 40% say.")
    assert (first.pattern, first.kept) == ("{1} of {2}, Group {3} has {4}.", ("1,204", "2,000", "B", "3"))
    assert (second.pattern, second.kept) == ("{1} is what {2} say.", ("“One. Two”", "40%"))
    assert [one.is_text for one in mask("a {1} of its own")] == [False]
    text = '<html lang="en"><main><p>Fine. 80% of 25 agree.</p></main></html>'
    found, _ = translated(lambda passage: foreign(passage) if "{" not in passage else "broken", text=text)
    assert "<p>xFine. 80% of 25 agree.</p>" in found

"""Translates the pages of a report with a chat model, sentence by sentence, without losing or changing figures.

    pages = translate_pages(chat, {"report.html": text}, "de")

The input is the text that templates wrote. Figures, group letters, names and participants' texts are replaced by placeholders first, so the
model sees `{1} of {2} in Group {3} agree: {4}` and never a figure. If a translation lacks or repeats a placeholder, adds a figure, or
reorders the shares of two groups, it is discarded, and the sentence stays in English. Figures are reinserted in the number format of the
language. Elements with `translate="no"` stay unchanged. What a translation says is not checked; a notice in English on the page says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING

import orjson
from pydantic import BaseModel, ConfigDict, Field

from gateleg.ai import System, User
from gateleg.apps.delphi.reports.config import translated_name
from gateleg.apps.delphi.reports.markup import escape, json_script, tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gateleg.ai import Chat

#: The number of sentences per request.
_AT_ONCE = 20
_LONGEST_LABEL = 120
#: Scripts and styles with their content, and tags.
_TAG = re.compile(r"(<script\b.*?</script>|<style\b.*?</style>|<[^>]*>)", re.DOTALL)
#: The texts that a page's scripts show, in JSON.
_TEXTS = re.compile(r'<script type="application/json" id="texts">(.*)</script>', re.DOTALL)
_NAME = re.compile(r"</?([a-zA-Z0-9]+)")
_LABEL = re.compile(r'(?<= aria-label=")[^"]*(?=")')
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "col", "source", "!doctype"})
_SILENT = frozenset({"desc"})
#: The parts of a text that are replaced by placeholders: quotations, names, files, placeholders in scripts' texts, figures, group letters.
_KEPT = re.compile(
    r"“[^”]*”|‘[^’]*’|\$\d|\b[\w-]+\.(?:html|csv|json)\b|\b[a-z]+:[\w.@:/-]*\w|\d+(?:,\d{3})*(?:\.\d+)?%?"
    r"|(?<=Group )[A-Z]\b|\b[A-Z](?=: )|\b[A-Z](?= · )"
)
_MAIN = re.compile(r"<main\b[^>]*>")
_PLACE = re.compile(r"\{(\d+)\}")
_FIGURE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?%?")
#: The boundary between two sentences.
_END = re.compile(r"(?<=[.?!]) (?=[A-Z{])")
#: The thousands separator and the decimal separator by language; others are written as in English.
_SIGNS = {
    **dict.fromkeys(("de", "es", "it", "pt", "nl", "da", "tr", "id", "el", "ro", "sl", "hr"), (".", ",")),
    **dict.fromkeys(("fr", "ru", "pl", "cs", "sk", "sv", "nb", "nn", "no", "fi", "uk", "bg", "hu", "et", "lv", "lt"), ("\u202f", ",")),
}
_RIGHT_TO_LEFT = frozenset({"ar", "he", "fa", "ur"})
#: Not translated, so that a wrong translation cannot hide it.
_NOTICE = "Translated by a model ({0}). Figures were checked, the wording was not: the English page counts."
_NOTE = "Translated from English by {1}. {2} of {3} sentences were left in English, because a figure would have been lost or misplaced."


class Lines(BaseModel):
    """The translated sentences, in the order of the request."""

    model_config = ConfigDict(extra="forbid")

    lines: list[str] = Field(max_length=_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Masked:
    """A sentence in which placeholders `{1}`, `{2}` ... replace the parts that must not change."""

    pattern: str
    kept: tuple[str, ...]

    @property
    def is_text(self) -> bool:
        """Whether there is text to translate, and no brace that could be mistaken for a placeholder."""
        bare = _PLACE.sub("", self.pattern)
        return bool(re.search(r"[^\W\d_]", bare)) and not re.search(r"[{}]", bare) and self.pattern.count("{") == len(self.kept)

    def fill(self, translation: str, language: str, page_names: Mapping[str, str] | None = None) -> str:
        """Replace the placeholders of a translation: figures in the number format of the language, page names by their translations."""
        names = page_names or {}

        def put_back(place: re.Match[str]) -> str:
            text = self.kept[int(place.group(1)) - 1]
            return names.get(text) or localise(text, language)

        return _PLACE.sub(put_back, translation)

    def fault(self, translation: str) -> str:
        """Why a translation of the pattern is not usable; empty if it is."""
        found = [int(number) for number in _PLACE.findall(translation)]
        if sorted(found) != list(range(1, len(self.kept) + 1)):
            return "a figure is missing or repeated"
        bare = _PLACE.sub("", translation)
        if re.search(r"[\d{}<>“”]", bare) or not bare.strip() or len(bare) > 4 * len(self.pattern) + 40:
            return "it has figures or characters that the sentence does not have"
        share_of = self._share_of()
        order = [share_of[number] for number in found if number in share_of]
        return "" if order == sorted(order) else "the shares of two groups may be swapped"

    def _share_of(self) -> dict[int, int]:
        """For each placeholder, the share that it belongs to, if there are several: `80% of 25 ..., 30% of 40 ...`."""
        shares, found = 0, {}
        for number, text in enumerate(self.kept, 1):
            shares += text.endswith("%")
            if not text.startswith(("“", "‘")):
                found[number] = max(1, shares)
        return found if shares > 1 else {}


def mask(text: str) -> list[Masked]:
    """The sentences of a text, with placeholders."""
    kept: list[str] = []

    def take(match: re.Match[str]) -> str:
        kept.append(match.group(0))
        return f"{{{len(kept)}}}"

    plain = " ".join(text.split())
    if "{" in plain or "}" in plain:
        # Its own braces would be mistaken for placeholders.
        return [Masked(plain, ())]
    return [_renumber(pattern, kept) for pattern in _END.split(_KEPT.sub(take, plain))]


def _renumber(pattern: str, kept: Sequence[str]) -> Masked:
    """A sentence of a text with placeholders, renumbered from 1."""
    own = [int(number) for number in _PLACE.findall(pattern)]
    return Masked(_PLACE.sub(lambda match: f"{{{own.index(int(match.group(1))) + 1}}}", pattern), tuple(kept[one - 1] for one in own))


def localise(text: str, language: str) -> str:
    """A figure in the number format of a language. Other text is returned unchanged."""
    if not _FIGURE.fullmatch(text):
        return text
    thousands, decimal = _SIGNS.get(language.partition("-")[0].lower(), (",", "."))
    return text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)


def translate_pages(
    chat: Chat, pages: Mapping[str, str], language: str, report: Callable[[float], object] = lambda done: None
) -> dict[str, str]:
    """Translate pages. Each gets a note that names the model and the number of sentences left in English.

    References from one page to another are changed to the translated page.
    """
    page_names = {name: translated_name(name, language) for name in pages}
    note = Masked(_NOTE, ("", "", ""))
    passages = {one.pattern: one for text in pages.values() for passage in texts_of(text) for one in mask(passage) if one.is_text}
    known = _translate_all(chat, {**passages, note.pattern: note}, language, report)
    found = {}
    for name, text in pages.items():
        own = {one.pattern for passage in texts_of(text) for one in mask(passage) if one.is_text}
        figures = Masked(note.pattern, (chat.model, f"{len(own - known.keys()):,}", f"{len(own):,}"))
        note_element = tag("p", {"class": "note"}, figures.fill(known.get(note.pattern, note.pattern), language))
        page = rewrite(text, lambda passage: _translate(passage, known, language, page_names))
        page = page.replace("</main>", f"{note_element}</main>", 1)
        notice = tag("p", {"class": "warning", "role": "note", "lang": "en", "dir": "ltr", "translate": "no"}, _NOTICE.format(chat.model))
        begin = _MAIN.search(page)
        page = page if begin is None else f"{page[: begin.end()]}{notice}{page[begin.end() :]}"
        direction = ' dir="rtl"' if language.partition("-")[0].lower() in _RIGHT_TO_LEFT else ""
        found[name] = page.replace('<html lang="en">', f'<html lang="{escape(language)}"{direction}>', 1)
    return found


def _translate(passage: str, known: Mapping[str, str], language: str, page_names: Mapping[str, str]) -> str:
    sentences = mask(passage)
    if not any(one.pattern in known or page_names.keys() & set(one.kept) for one in sentences):
        return passage
    done = [one.fill(known.get(one.pattern, one.pattern), language if one.pattern in known else "en", page_names) for one in sentences]
    # Spaces around a text separate it from its neighbours.
    head, tail = (" " if passage[:1].isspace() else ""), (" " if passage[-1:].isspace() else "")
    return f"{head}{' '.join(done)}{tail}"


def _translate_all(chat: Chat, passages: Mapping[str, Masked], language: str, report: Callable[[float], object]) -> dict[str, str]:
    """The translations of patterns; those that are not usable are left out."""
    found: dict[str, str] = {}
    patterns = list(passages)
    for start in range(0, len(patterns), _AT_ONCE):
        report(start / len(patterns))
        batch = patterns[start : start + _AT_ONCE]
        answer = chat.structured(
            Lines, [System(_task(language)), User(_numbered_list(batch))], repairs=1, temperature=0.0, max_tokens=8_000, seed=1
        )
        lines = answer.value.lines if len(answer.value.lines) == len(batch) else []
        for pattern, line in zip(batch, lines, strict=False):
            plain = " ".join(line.split())
            if not passages[pattern].fault(plain):
                found[pattern] = plain
    return found


def _task(language: str) -> str:
    return (
        f"Translate passages of a report on a public discussion from English into the language {language!r}. Answer with as many lines as "
        "there are passages, in the same order, without their numbers. {1}, {2} and so on stand for figures and names: keep each of them "
        "exactly once, with what it belongs to. Write plainly; agree, disagree and pass are what people did with a statement."
    )


def _numbered_list(patterns: Sequence[str]) -> str:
    return "\n".join(f"({number}) {pattern}" for number, pattern in enumerate(patterns, 1))


def texts_of(page: str) -> Iterator[str]:
    """All texts of a page that may be translated."""
    found: list[str] = []

    def note(passage: str) -> str:
        found.append(passage)
        return passage

    rewrite(page, note)
    yield from found


def rewrite(page: str, change: Callable[[str], str]) -> str:
    """Apply `change` to each text and each short label of a page that `markup` has written."""
    parts, held = [], 0
    for piece in _TAG.split(page):
        if not piece.startswith("<"):
            parts.append(escape(change(unescape(piece))) if piece.strip() and not held else piece)
            continue
        if piece.startswith(("<script", "<style")):
            parts.append(_rewrite_script_texts(piece, change))
            continue
        name = _NAME.match(piece)
        kind = name.group(1).lower() if name else "!doctype"
        if kind in _VOID or name is None:
            parts.append(piece)
            continue
        closes = piece.startswith("</")
        if held:
            held += -1 if closes else 1
        elif not closes and (kind in _SILENT or ' translate="no"' in piece):
            held = 1
        else:
            piece = _LABEL.sub(lambda label: _label(label.group(0), change), piece)
        parts.append(piece)
    return "".join(parts)


def _rewrite_script_texts(script: str, change: Callable[[str], str]) -> str:
    """Apply `change` to the element with the texts of scripts. Other scripts are returned unchanged."""
    found = _TEXTS.fullmatch(script)
    return json_script("texts", {key: change(text) for key, text in orjson.loads(found.group(1)).items()}) if found else script


def _label(text: str, change: Callable[[str], str]) -> str:
    return escape(change(unescape(text))) if text.strip() and len(text) <= _LONGEST_LABEL else text

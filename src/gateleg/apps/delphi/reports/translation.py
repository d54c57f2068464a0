"""A report in another language: its pages, translated by a chat model sentence by sentence, without a figure getting lost.

    pages = translate_pages(chat, {"report.html": text}, "de")

What is translated is the text that was checked before. Figures, letters of groups, names and what participants wrote are taken out of it
first, so the model sees `{1} of {2} in Group {3} agree: {4}` and never a figure. A translation that lacks one of them, has one twice, adds
a figure of its own, or has the shares of two groups in another order is given up, and the sentence stays in English. Figures come back as
the language writes them. What stands in an element with `translate="no"` is left as it is.
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

#: Passages that a model is given at once.
_AT_ONCE = 20
_LONGEST_LABEL = 120
#: Scripts and styles as they are, with whatever signs they have; and tags.
_TAG = re.compile(r"(<script\b.*?</script>|<style\b.*?</style>|<[^>]*>)", re.DOTALL)
#: The texts that a page's scripts show, in JSON.
_TEXTS = re.compile(r'<script type="application/json" id="texts">(.*)</script>', re.DOTALL)
_NAME = re.compile(r"</?([a-zA-Z0-9]+)")
_LABEL = re.compile(r'(?<= aria-label=")[^"]*(?=")')
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "col", "source", "!doctype"})
_SILENT = frozenset({"desc"})
#: What is taken out of a passage: quotations, names, files, places of figures in the texts of scripts, figures, and the letters of groups.
_KEPT = re.compile(
    r"“[^”]*”|‘[^’]*’|\$\d|\b[\w-]+\.(?:html|csv|json)\b|\b[a-z]+:[\w.@:/-]*\w|\d+(?:,\d{3})*(?:\.\d+)?%?"
    r"|(?<=Group )[A-Z]\b|\b[A-Z](?=: )|\b[A-Z](?= · )"
)
_PLACE = re.compile(r"\{(\d+)\}")
_FIGURE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?%?")
#: Where one sentence ends and another begins.
_END = re.compile(r"(?<=[.?!]) (?=[A-Z{])")
#: How languages write thousands and decimals; others as English does.
_SIGNS = {
    **dict.fromkeys(("de", "es", "it", "pt", "nl", "da", "tr", "id", "el", "ro", "sl", "hr"), (".", ",")),
    **dict.fromkeys(("fr", "ru", "pl", "cs", "sk", "sv", "nb", "nn", "no", "fi", "uk", "bg", "hu", "et", "lv", "lt"), ("\u202f", ",")),
}
_RIGHT_TO_LEFT = frozenset({"ar", "he", "fa", "ur"})
_NOTE = "Translated from English by {1}. {2} of {3} sentences are left in English, because a figure would have been lost or misplaced."


class Lines(BaseModel):
    """Translated passages, one for each that was given, in the same order."""

    model_config = ConfigDict(extra="forbid")

    lines: list[str] = Field(max_length=_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Masked:
    """A sentence without what must not change: `{1}`, `{2}` ... stand in its place."""

    pattern: str
    kept: tuple[str, ...]

    @property
    def is_text(self) -> bool:
        """Whether there is anything to translate, and no brace that could be taken for a place."""
        bare = _PLACE.sub("", self.pattern)
        return bool(re.search(r"[^\W\d_]", bare)) and not re.search(r"[{}]", bare) and self.pattern.count("{") == len(self.kept)

    def filled(self, translation: str, language: str, renamed: Mapping[str, str] | None = None) -> str:
        """A translation of the pattern with what was kept: figures as the language writes them, pages by their names in that language."""
        names = renamed or {}

        def put_back(place: re.Match[str]) -> str:
            text = self.kept[int(place.group(1)) - 1]
            return names.get(text) or localised(text, language)

        return _PLACE.sub(put_back, translation)

    def fault(self, translation: str) -> str:
        """Why a translation of the pattern cannot be used; empty if it can."""
        found = [int(number) for number in _PLACE.findall(translation)]
        if sorted(found) != list(range(1, len(self.kept) + 1)):
            return "a figure is missing, or stands there twice"
        bare = _PLACE.sub("", translation)
        if re.search(r"[\d{}<>“”]", bare) or not bare.strip() or len(bare) > 4 * len(self.pattern) + 40:
            return "it has figures or signs that the passage does not have"
        whose = self._whose()
        order = [whose[number] for number in found if number in whose]
        return "" if order == sorted(order) else "the shares of two groups may have changed places"

    def _whose(self) -> dict[int, int]:
        """For each figure the share that it belongs to, where there is more than one: `80% of 25 ..., 30% of 40 ...`."""
        shares, found = 0, {}
        for number, text in enumerate(self.kept, 1):
            shares += text.endswith("%")
            if not text.startswith(("“", "‘")):
                found[number] = max(1, shares)
        return found if shares > 1 else {}


def masked(text: str) -> list[Masked]:
    """The sentences of a passage, each masked."""
    kept: list[str] = []

    def take(match: re.Match[str]) -> str:
        kept.append(match.group(0))
        return f"{{{len(kept)}}}"

    plain = " ".join(text.split())
    if "{" in plain or "}" in plain:
        # Braces of its own would be taken for places.
        return [Masked(plain, ())]
    return [_numbered(pattern, kept) for pattern in _END.split(_KEPT.sub(take, plain))]


def _numbered(pattern: str, kept: Sequence[str]) -> Masked:
    """A sentence of a masked passage, its places numbered from 1 on."""
    own = [int(number) for number in _PLACE.findall(pattern)]
    return Masked(_PLACE.sub(lambda match: f"{{{own.index(int(match.group(1))) + 1}}}", pattern), tuple(kept[one - 1] for one in own))


def localised(text: str, language: str) -> str:
    """A figure as a language writes it; what is not a figure as it is."""
    if not _FIGURE.fullmatch(text):
        return text
    thousands, decimal = _SIGNS.get(language.partition("-")[0].lower(), (",", "."))
    return text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)


def translate_pages(
    chat: Chat, pages: Mapping[str, str], language: str, report: Callable[[float], object] = lambda done: None
) -> dict[str, str]:
    """The pages in another language, each with a note on who translated it and how much stayed in English.

    Where a page names another one of these, it names the translated one.
    """
    renamed = {name: translated_name(name, language) for name in pages}
    note = Masked(_NOTE, ("", "", ""))
    passages = {one.pattern: one for text in pages.values() for passage in texts_of(text) for one in masked(passage) if one.is_text}
    known = _translated(chat, {**passages, note.pattern: note}, language, report)
    found = {}
    for name, text in pages.items():
        own = {one.pattern for passage in texts_of(text) for one in masked(passage) if one.is_text}
        figures = Masked(note.pattern, (chat.model, f"{len(own - known.keys()):,}", f"{len(own):,}"))
        said = tag("p", {"class": "note"}, figures.filled(known.get(note.pattern, note.pattern), language))
        page = rewritten(text, lambda passage: _turned(passage, known, language, renamed))
        page = page.replace("</main>", f"{said}</main>", 1)
        direction = ' dir="rtl"' if language.partition("-")[0].lower() in _RIGHT_TO_LEFT else ""
        found[name] = page.replace('<html lang="en">', f'<html lang="{escape(language)}"{direction}>', 1)
    return found


def _turned(passage: str, known: Mapping[str, str], language: str, renamed: Mapping[str, str]) -> str:
    sentences = masked(passage)
    if not any(one.pattern in known or renamed.keys() & set(one.kept) for one in sentences):
        return passage
    turned = [one.filled(known.get(one.pattern, one.pattern), language if one.pattern in known else "en", renamed) for one in sentences]
    # Spaces around a passage divide it from its neighbours.
    head, tail = (" " if passage[:1].isspace() else ""), (" " if passage[-1:].isspace() else "")
    return f"{head}{' '.join(turned)}{tail}"


def _translated(chat: Chat, passages: Mapping[str, Masked], language: str, report: Callable[[float], object]) -> dict[str, str]:
    """The translation of each pattern that has one which can be used."""
    found: dict[str, str] = {}
    patterns = list(passages)
    for start in range(0, len(patterns), _AT_ONCE):
        report(start / len(patterns))
        batch = patterns[start : start + _AT_ONCE]
        answer = chat.structured(
            Lines, [System(_task(language)), User(_listed(batch))], repairs=1, temperature=0.0, max_tokens=8_000, seed=1
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


def _listed(patterns: Sequence[str]) -> str:
    return "\n".join(f"({number}) {pattern}" for number, pattern in enumerate(patterns, 1))


def texts_of(page: str) -> Iterator[str]:
    """All passages of a page that may be translated."""
    found: list[str] = []

    def note(passage: str) -> str:
        found.append(passage)
        return passage

    rewritten(page, note)
    yield from found


def rewritten(page: str, change: Callable[[str], str]) -> str:
    """A page, as `markup` writes it, with each passage of its text and each short label changed."""
    parts, held = [], 0
    for piece in _TAG.split(page):
        if not piece.startswith("<"):
            parts.append(escape(change(unescape(piece))) if piece.strip() and not held else piece)
            continue
        if piece.startswith(("<script", "<style")):
            parts.append(_rewritten_texts(piece, change))
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


def _rewritten_texts(script: str, change: Callable[[str], str]) -> str:
    """The texts of scripts, each changed; any other script as it is."""
    found = _TEXTS.fullmatch(script)
    return json_script("texts", {text: change(said) for text, said in orjson.loads(found.group(1)).items()}) if found else script


def _label(text: str, change: Callable[[str], str]) -> str:
    return escape(change(unescape(text))) if text.strip() and len(text) <= _LONGEST_LABEL else text

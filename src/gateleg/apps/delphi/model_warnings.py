"""What people are told if a model failed: the same words in the log of a job, its result, its page and on the command line. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 300


def warnings_of(summary: Mapping[str, Any]) -> list[str]:
    """The warnings of a report's run."""
    given_up, found = summary.get("given_up") or {}, []
    if given_up:
        reasons = [one if isinstance(one, str) else "; ".join(one) for one in given_up.values()]
        sections = f"{len(given_up)} of {summary.get('sections', len(given_up))} sections"
        found.append(f"The model's answers for {sections} were not usable; templates made these sections instead. {_short(reasons[0])}")
    if why := summary.get("not_translated"):
        found.append(f"The pages were not translated. {_short(why)}")
    return found


def naming_warning(failed: Mapping[str, Any]) -> str:
    """The warning that a model has not named topics."""
    why = f" {_short(failed['why'])}" if failed.get("why") else ""
    return f"The model gave no usable name for {failed['topics']} of {failed['of']} topics; keywords name them instead.{why}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

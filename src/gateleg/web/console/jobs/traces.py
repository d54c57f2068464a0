"""Tracebacks, with frames of the application expanded, and those of Gateleg and libraries collapsed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

_FRAME = re.compile(r'^\s*(?:[+|]\s+)?File "(?P<path>[^"]+)", line \d+')
#: Gateleg itself. Its applications and its demo count as application code.
_OWN = re.compile(r"(?:site-packages|dist-packages|src)[/\\]gateleg[/\\](?!apps[/\\]|cli[/\\]demo[/\\])")
_APPLICATION = re.compile(r"[/\\]gateleg[/\\](?:apps|cli[/\\]demo)[/\\]")
_LIBRARY = re.compile(r"[/\\](?:site-packages|dist-packages)[/\\]|[/\\]lib[/\\]python3[^/\\]*[/\\]|^<")


@dataclass(frozen=True)
class TracePart:
    """Some lines of a traceback. `frames` counts the frames of a collapsed part; an expanded part has 0."""

    text: str
    frames: int = 0

    @property
    def folded(self) -> bool:
        """Whether the part is collapsed."""
        return self.frames > 0


def is_foreign(path: str) -> bool:
    """Whether a file belongs to Gateleg, to a library or to Python, and not to the application."""
    if _APPLICATION.search(path):
        return False
    return bool(_OWN.search(path) or _LIBRARY.search(path))


def parts_of(trace: str, *, error: str = "") -> list[TracePart]:
    """A traceback in parts. The exception itself, `error`, is removed from the end, because it is shown already."""
    frames: list[tuple[bool, list[str]]] = []
    for text in _without(trace.rstrip(), error).splitlines():
        found = _FRAME.match(text)
        if found:
            frames.append((is_foreign(found["path"]), [text]))
        elif frames and frames[-1][1] and _FRAME.match(frames[-1][1][0]) and text.startswith("    "):
            # The source line of the frame, and the markers below it.
            frames[-1][1].append(text)
        else:
            frames.append((False, [text]))
    parts = []
    for foreign, group in groupby(frames, key=lambda frame: frame[0]):
        lines = [lines for _, lines in group]
        parts.append(TracePart("\n".join(text for one in lines for text in one), len(lines) if foreign else 0))
    return parts


def _without(trace: str, error: str) -> str:
    """A traceback without the exception at its end, which may be qualified with its module."""
    head, found, tail = trace.rpartition(error) if error else (trace, "", "")
    return head.rpartition("\n")[0] if found and not tail.strip() else trace

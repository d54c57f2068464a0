"""`Chart`: lines and bars over time; and sparklines, which are pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Literal

from nicegui.element import Element

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.web.console.theme import Kind


@dataclass(frozen=True)
class Series:
    """Values over time, None where there are none. `tone` is a colour of the theme."""

    name: str
    tone: Kind
    values: Sequence[float | None]
    kind: Literal["line", "area", "bar"] = "line"
    dashed: bool = False


class Chart(Element, component="static/chart.js"):
    """A chart on a page. Bars are stacked; `unit` says how values are written."""

    def __init__(self, label: str, *, unit: Literal["count", "seconds"] = "count", height: int = 180) -> None:
        super().__init__()
        self.props["label"] = label
        self.props["unit"] = unit
        self.props["height"] = height
        self.props["times"] = []
        self.props["series"] = []
        self._shown: tuple[list[datetime], list[Series]] | None = None

    def show(self, times: Sequence[datetime], series: Sequence[Series]) -> None:
        """Show these values at these times."""
        if (shown := (list(times), list(series))) == self._shown:
            return
        self._shown = shown
        drawn = {
            "series": [{**asdict(one), "values": list(one.values)} for one in series],
            "times": [time.astimezone(UTC).isoformat().replace("+00:00", "Z") for time in times],
        }
        # As in a grid, values that are never changed in place are not observed.
        dict.update(self.props, drawn)
        self.update()


def spark_svg(values: Sequence[float | None], tone: Kind) -> str:
    """A sparkline with an area below it, 100 wide and 32 high. Without values it is flat."""
    known = [0.0 if value is None else float(value) for value in values] or [0.0]
    known = known * 2 if len(known) == 1 else known
    most = max(*known, 1.0)
    points = [f"{100 * at / (len(known) - 1):.2f} {30 - 26 * value / most:.2f}" for at, value in enumerate(known)]
    path = "L".join(points)
    return (
        f'<svg class="spark" viewBox="0 0 100 32" preserveAspectRatio="none" aria-hidden="true"><path d="M0 32L{path}L100 32Z" '
        f'fill="var(--{tone})" opacity="0.1"/><path d="M{path}" fill="none" stroke="var(--{tone})" stroke-width="1.5" '
        f'vector-effect="non-scaling-stroke" stroke-linejoin="round"/></svg>'
    )

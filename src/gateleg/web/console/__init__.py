"""The console: the frame around all pages, the pages of the kit, and the components for pages of applications.


components.py   everything that applications import
frame.py        `frame(title=..., section=..., crumbs=[...])`: navigation, top bar, landmarks; provides the page's `View`
theme.py        the palettes, as CSS variables; `static/console.css` has all classes
markup.py       `tag`, `stack`, `line`, `card`, `section`: plain HTML
grid.py         `Grid`: rows that change in place, cards on a phone; `cells.py` has the cells
badges.py       `chip`: a state as icon, label and colour
times.py        `ago`, `since`, `duration`; `ids.py` has `short_id`
empty.py        empty states; `failures.py` shows errors in place
actions.py      `button` and `carry_out`; `confirm.py` asks before data is lost
paging.py       `address` and `pager`: the address holds the whole state
live.py         `Topic`, `follow` and `LiveIndicator`: one poller per topic for all open pages
"""

from gateleg.extras import explained

try:
    import nicegui  # noqa: F401 - nearly every module below needs it
except ModuleNotFoundError as error:
    raise explained(error) from error
from gateleg.web.console.frame import Console, Crumb, View, frame
from gateleg.web.console.mounting import mount

__all__ = ["Console", "Crumb", "View", "frame", "mount"]

"""The console: the frame around all pages, the pages of the kit, and the components that applications build theirs from.

components.py   what applications import; all of it is listed there
frame.py        `frame(title=..., section=..., crumbs=[...])`: rail, top bar, landmarks; gives the page its `View`
theme.py        the palettes, as CSS variables; `static/console.css` has all classes
markup.py       `tag`, `stack`, `line`, `card`, `section`: plain HTML
grid.py         `Grid`: rows that change in place, cards on a phone; `cells.py` has what can stand in one
badges.py       `chip`: a state as icon, word and colour
times.py        `ago`, `since`, `duration`; `ids.py` has `short_id`
empty.py        empty states that teach; `failures.py` has errors where they happen
deeds.py        buttons, and `carry_out`; `confirm.py` asks before something is lost
paging.py       `address` and `pager`: the address holds the whole state
live.py         `Topic`, `follow` and `LiveIndicator`: one poller per topic for all open pages
"""

from gateleg.web.console.frame import View, frame
from gateleg.web.console.mounting import mount
from gateleg.web.console.navigation import Crumb
from gateleg.web.console.site import Console

__all__ = ["Console", "Crumb", "View", "frame", "mount"]

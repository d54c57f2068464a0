"""The console: the frame around all pages, the pages of the kit, and the components for pages of applications.

components.py   everything that applications import
frame.py        `frame(title=..., section=..., crumbs=[...])`: navigation, top bar, landmarks; provides the page's `View`
theme.py        the palettes, as CSS variables; `static/console.css` has all classes
markup.py       `tag`, `stack`, `line`, `card`, `section`: plain HTML; `ago`, `since`, `short_id`
cells.py        the cells of rows, and `chip`: a state as icon, label and colour
widgets.py      our own components: `Grid`, `Chart`, `LogView`, uploads
forms.py        `Field`, `ModelForm`; `confirm` asks before data is lost
dialogs.py      `sheet`, `button` and `carry_out`
actions.py      `act` and `action_button`: an action of the host on a page
failures.py     errors in place, and empty states
lists.py        `address` and `pager`: the address holds the whole state
live.py         `follow` and `LiveIndicator`: pages follow the topics of `gateleg.host.live`
mounting.py     serves the pages, and keeps each page with whom it was built for
"""

from gateleg.extras import explained

try:
    import nicegui  # noqa: F401 - nearly every module below needs it
except ModuleNotFoundError as error:
    raise explained(error) from error
from gateleg.web.console.frame import Console, Crumb, View, frame
from gateleg.web.console.mounting import mount

__all__ = ["Console", "Crumb", "View", "frame", "mount"]

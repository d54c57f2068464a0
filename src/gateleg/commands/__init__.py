"""Building blocks of commands: shared options, settings, opening a store or an application, printing, progress, failing.

The commands of applications and of `gateleg` itself use them:

    app = typer.Typer()

    @app.command()
    def count(store: StoreOption = None, config: ConfigOption = None) -> None:
        settings = settings_from(config, store=store)
        with opened(settings) as found: ...
"""

from gateleg.extras import explained

try:
    import typer  # noqa: F401
except ModuleNotFoundError as error:
    raise explained(error) from error

from gateleg.commands.opening import (
    explaining_bad_settings,
    open_resources,
    opened,
    read_config,
    require_packages,
    require_store,
    settings_from,
)
from gateleg.commands.options import (
    AppOption,
    ConfigOption,
    CursorOption,
    DataOption,
    JsonOption,
    LimitOption,
    LogOption,
    ObjectsOption,
    PrefixOption,
    StoreOption,
)
from gateleg.commands.printing import FAILED, MISUSED, Steps, console, fail, print_items, print_json, print_rows

__all__ = [
    "FAILED",
    "MISUSED",
    "AppOption",
    "ConfigOption",
    "CursorOption",
    "DataOption",
    "JsonOption",
    "LimitOption",
    "LogOption",
    "ObjectsOption",
    "PrefixOption",
    "Steps",
    "StoreOption",
    "console",
    "explaining_bad_settings",
    "fail",
    "open_resources",
    "opened",
    "print_items",
    "print_json",
    "print_rows",
    "read_config",
    "require_packages",
    "require_store",
    "settings_from",
]

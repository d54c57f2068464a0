"""`gateleg config`: the settings in effect, and their origins."""

import typer

from gateleg.commands.opening import explaining_bad_settings
from gateleg.commands.options import ConfigOption, JsonOption

app = typer.Typer(add_completion=False)


@app.command()
def config(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Print every setting with its value and origin: a file, a GATELEG_ variable, or the default. Secrets are hidden."""
    from gateleg.ai import ModelSettings
    from gateleg.cli.installed import installed_applications, settings_of_tables
    from gateleg.commands.printing import print_json, print_rows
    from gateleg.host.openid import OpenIdSettings

    settings = settings_of_tables(config)
    found = [*settings.table()]
    with explaining_bad_settings():
        found += settings.section_table("models", ModelSettings)
        found += settings.section_table("oidc", OpenIdSettings)
        for application in installed_applications(settings):
            if application.settings is not None:
                found += settings.section_table(application.name, application.settings)
    rows = [{"setting": name, "value": value, "from": origin} for name, value, origin in found]
    if json:
        print_json(rows)
    else:
        print_rows(rows, whole=True)

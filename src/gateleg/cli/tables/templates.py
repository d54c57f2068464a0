"""`template`."""

from enum import StrEnum
from typing import Annotated

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.cli.tables.changes import BillingOption, ProtectOption, RecoverOption, TagOption, read_properties
from gateleg.cli.tables.declared import load_tables
from gateleg.commands.failures import fail
from gateleg.commands.options import ConfigOption, OnlyOption, PrefixOption, TablesOption
from gateleg.commands.printing import print_json


class Language(StrEnum):
    """The tool that the template is for."""

    CLOUDFORMATION = "cloudformation"
    TERRAFORM = "terraform"
    REQUESTS = "requests"


def template(
    language: Annotated[Language, typer.Argument(help="cloudformation, terraform (a .tf.json file), or requests to create tables.")],
    tables: TablesOption = None,
    prefix: PrefixOption = None,
    config: ConfigOption = None,
    only: OnlyOption = None,
    billing: BillingOption = "on-demand",
    protect: ProtectOption = None,
    recovery: RecoverOption = None,
    tag: TagOption = None,
) -> None:
    """Print the declared tables as JSON for infrastructure tools."""
    from gateleg.ops import NotExpressible, cloudformation, create_requests, terraform

    settings = settings_of_tables(config, prefix=prefix, tables=tables)
    declared = load_tables(settings, only)
    properties = read_properties(billing, protect, recovery, tag)
    try:
        if language is Language.CLOUDFORMATION:
            print_json(cloudformation(declared, properties, settings.prefix, settings.table_names))
        elif language is Language.TERRAFORM:
            print_json(terraform(declared, properties, settings.prefix, settings.table_names))
        else:
            print_json(create_requests(declared, properties, settings.prefix, settings.table_names))
    except NotExpressible as error:
        fail(str(error))

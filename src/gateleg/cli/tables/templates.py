"""`template`."""

from enum import StrEnum
from typing import Annotated

import typer

from gateleg.cli.failures import fail
from gateleg.cli.tables.changes import BillingOption, ProtectOption, RecoverOption, TagOption, read_settings
from gateleg.cli.tables.declared import load_tables
from gateleg.cli.tables.options import OnlyOption, PrefixOption, TablesOption
from gateleg.cli.tables.printing import print_json


class Language(StrEnum):
    """Whom the template is for."""

    CLOUDFORMATION = "cloudformation"
    TERRAFORM = "terraform"
    REQUESTS = "requests"


def template(
    language: Annotated[Language, typer.Argument(help="cloudformation, terraform (a .tf.json file), or requests to create tables.")],
    tables: TablesOption = None,
    prefix: PrefixOption = "",
    only: OnlyOption = None,
    billing: BillingOption = "on-demand",
    protect: ProtectOption = None,
    recovery: RecoverOption = None,
    tag: TagOption = None,
) -> None:
    """Print the declared tables for a tool that keeps infrastructure, as JSON."""
    from gateleg.ops import NotExpressible, cloudformation, create_requests, terraform

    declared = load_tables(tables, only)
    settings = read_settings(billing, protect, recovery, tag)
    try:
        if language is Language.CLOUDFORMATION:
            print_json(cloudformation(declared, settings, prefix))
        elif language is Language.TERRAFORM:
            print_json(terraform(declared, settings, prefix))
        else:
            print_json(create_requests(declared, settings, prefix))
    except NotExpressible as error:
        fail(str(error))

"""Errors of migrations: of plans for tables, of moves, and of numbered migrations."""

from gateleg.errors import GatelegError


class MoveError(GatelegError):
    """A move cannot continue."""

    fix = "`gateleg migrate status` shows how far it is."
    status = 409


class BadMove(MoveError):
    """The declaration of a move is invalid."""

    fix = "Correct the declaration."
    status = 500


class MoveIncomplete(MoveError):
    """The new entity cannot be queried yet: not all items have been copied."""

    fix = "Use the old entity until the move is in the phase dual-read, or declare how the old one answers (old_key, patterns)."
    status = 503


class MoveClosed(MoveError):
    """The old entity was used after its items had been moved for good."""

    fix = "Use the new entity; or go back with `gateleg migrate rollback` until the old items are removed."
    status = 410


class Inconvertible(MoveError):
    """An item cannot be converted to the other layout, or would lose attributes there."""

    fix = "Correct convert and revert, or name the attributes that only one side has in old_only or new_only."
    status = 500


class Orphan(Inconvertible):
    """The parent that an item's new key depends on does not exist."""

    fix = "Create the parent, or delete the item, and repeat its copy."


class MoveContended(MoveError):
    """Other writers changed an item at every attempt."""

    fix = "Try again."
    status = 503


class PhaseRefused(MoveError):
    """A stage of a move cannot enter a phase yet."""

    fix = "Do what the message says first."


class RolloutHalted(MoveError):
    """Too many client requests failed, or were too slow, after a change of phase."""

    fix = "Check the clients' logs; then apply again, or go back with `gateleg migrate rollback`."


class Paused(MoveError):
    """The work on a stage was paused."""

    code = "move-paused"
    fix = "`gateleg migrate resume` continues where it stopped."


class BadMigration(MoveError):
    """Migrations with duplicate numbers or names, or a module without a migration."""

    fix = "Give every migration a number and a name of its own, in a module with `migration = Migration(...)`."
    status = 500


class CodeOlder(MoveError):
    """The data was changed by a migration that this program does not have."""

    code = "code-older-than-data"
    fix = "Deploy the release that has the migration, or roll the migration back with that release."
    status = 503


class NoBackup(MoveError):
    """The service offers no backups, or has none of the table."""

    fix = "Roll back by phase, which needs no backup, or restore the table in the service's own console."


class UnknownMigration(MoveError):
    """There is no migration with that number."""

    fix = "`gateleg migrate status` lists them."
    status = 404


class MigrationRefused(MoveError):
    """A migration cannot be applied or undone in its current state."""

    fix = "Do what the message says first."


class Unsettled(GatelegError):
    """A step was carried out, but the plan requires it again: the service did not do what it reported."""

    fix = "Inspect the table in the service's own console, and plan again."
    status = 502

"""Run exports and imports, one by one."""

from gateleg.engine import export_job, import_job
from gateleg.engine.context import Context
from gateleg.engine.transfers import FailedTransfer, InterruptedTransfer, IsStopped, claim, finish, release


def run_transfers(context: Context, stopped: IsStopped) -> None:
    """Run pending jobs until none is left, or until `stopped` returns true."""
    while not stopped() and (transfer := claim(context)) is not None:
        description = dict(transfer.description)
        exports = transfer.kind == "export"
        member = "ExportStatus" if exports else "ImportStatus"
        try:
            description |= (export_job.export if exports else import_job.load)(context, transfer, stopped)
            description[member] = "COMPLETED"
        except InterruptedTransfer:
            release(context, transfer)
            return
        except FailedTransfer as failure:
            description |= {member: "FAILED", "FailureCode": failure.code, "FailureMessage": failure.message, **failure.members}
        except OSError as error:
            description |= {member: "FAILED", "FailureCode": "UNKNOWN", "FailureMessage": error.strerror or str(error)}
        finish(context, transfer, {**description, "EndTime": context.now()})

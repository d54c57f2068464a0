"""How the tables of document collections are run on AWS, in the figures of the public design."""

from gateleg.ops.operating_plan import Alarms, Backups, Load, OperatingPlan, Scaling

#: On-demand first; provisioned, with these figures, once a baseline is known: `compare_billing` says which is cheaper.
PLAN = OperatingPlan(
    scaling=Scaling(read=5, write=5, target=70, least=5, most=100),
    alarms=Alarms(throttled=0.01, latency=100.0, user_errors=0.05),
    backups=Backups(recovery_days=35, hour=2, kept_days=30, recovery_time=4 * 3600, recovery_point=5 * 60),
    load=Load(item_bytes=2 * 1024, largest_item_bytes=10 * 1024, items=10_000, reads=0.8),
)
#: Collections that a repository is expected to have.
COLLECTIONS_PER_REPOSITORY = (10, 100)

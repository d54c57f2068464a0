"""The operating plan of the tables on AWS, with the targets of the public design."""

from gateleg.ops.operating_plan import Alarms, Backups, Load, OperatingPlan, Scaling

#: Start with on-demand billing. The scaling figures apply to provisioned capacity, once `compare_billing` shows that it is cheaper.
PLAN = OperatingPlan(
    scaling=Scaling(read=5, write=5, target=70, least=5, most=100),
    alarms=Alarms(throttled=0.01, latency=100.0, user_errors=0.05),
    backups=Backups(recovery_days=35, hour=2, kept_days=30, recovery_time=4 * 3600, recovery_point=5 * 60),
    load=Load(item_bytes=2 * 1024, largest_item_bytes=10 * 1024, items=10_000, reads=0.8),
)
#: The expected number of collections in a repository: typical and largest.
COLLECTIONS_PER_REPOSITORY = (10, 100)

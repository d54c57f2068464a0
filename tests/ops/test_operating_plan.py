"""Capacity, alarms and backups of tables as CloudFormation resources."""

from gateleg.model import GSI, Attr, Entity, Key, Pattern, Table
from gateleg.ops.operating_plan import Backups, OperatingPlan, RecoveryDrill, Scaling, compare_billing, operations

songs = Table("Songs", hash="id", indexes=[GSI("by-artist", hash="artist")])


class Song(Entity, table=songs):
    """A song."""

    id: Attr[str]
    artist: Attr[str]

    key = Key("{id}")
    by_artist = Pattern("by-artist", title="Songs of an artist")


def test_on_demand_tables_have_alarms_and_backups_and_no_scaling() -> None:
    found = operations([songs], OperatingPlan())
    assert {one["Type"] for one in found.values()} == {
        "AWS::CloudWatch::Alarm",
        "AWS::Backup::BackupPlan",
        "AWS::Backup::BackupSelection",
    }
    assert {name: one["Properties"]["Threshold"] for name, one in found.items() if name.endswith("Alarm")} == {
        "SongsThrottledAlarm": 0.01,
        "SongsUserErrorsAlarm": 0.05,
        "SongsSystemErrorsAlarm": 0.01,
        "SongsLatencyAlarm": 100.0,
    }


def test_provisioned_tables_scale_with_each_of_their_indexes() -> None:
    found = operations([songs], OperatingPlan(Scaling(least=5, most=100, target=70)), billing="provisioned", prefix="prod-")
    targets = {
        one["Properties"]["ResourceId"]: (one["Properties"]["MinCapacity"], one["Properties"]["MaxCapacity"])
        for one in found.values()
        if one["Type"] == "AWS::ApplicationAutoScaling::ScalableTarget"
    }
    assert targets == {"table/prod-Songs": (5, 100), "table/prod-Songs/index/by-artist": (5, 100)}
    policies = [one["Properties"] for one in found.values() if one["Type"] == "AWS::ApplicationAutoScaling::ScalingPolicy"]
    assert len(policies) == 4
    assert {one["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] for one in policies} == {70}
    assert {one["ScalingTargetId"]["Ref"] in found for one in policies} == {True}


def test_backup_is_daily_and_kept() -> None:
    found = operations([songs], OperatingPlan(backups=Backups(hour=2, kept_days=30)), table_names={"Songs": "songs-eu"})
    (rule,) = found["DailyBackup"]["Properties"]["BackupPlan"]["BackupPlanRule"]
    assert (rule["ScheduleExpression"], rule["Lifecycle"]) == ("cron(0 2 * * ? *)", {"DeleteAfterDays": 30})
    (arn,) = found["DailyBackupSelection"]["Properties"]["BackupSelection"]["Resources"]
    assert arn["Fn::Sub"].endswith(":table/songs-eu")


def test_drill_is_judged_by_the_targets() -> None:
    plan = Backups(recovery_time=4 * 3600, recovery_point=300)
    assert RecoveryDrill(3600, 10, plan).passed
    assert not RecoveryDrill(5 * 3600, 10, plan).passed
    assert not RecoveryDrill(3600, 301, plan).passed


def test_steady_load_is_cheaper_provisioned_and_a_small_one_on_demand() -> None:
    scaling = Scaling(least=5, most=100)
    assert compare_billing(50, 20, scaling).cheaper == "provisioned"
    assert compare_billing(0.1, 0.01, scaling).cheaper == "on-demand"
    assert compare_billing(0, 0, scaling).on_demand == 0

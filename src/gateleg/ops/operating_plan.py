"""Operation of tables on AWS: auto scaling, alarms, backups and recovery targets, as CloudFormation resources.

Declare a plan beside its tables: `operations(tables, plan)` returns the resources to add to those of `cloudformation(tables)`. The embedded
store needs none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from gateleg.store.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model import Table

__all__ = ["Alarms", "Backups", "Load", "OperatingPlan", "RecoveryDrill", "Scaling", "compare_billing", "operations"]

Document = dict[str, Any]
#: Average hours per month, and seconds per hour.
_HOURS, _HOUR = 730, 3600


@dataclass(frozen=True)
class Scaling:
    """Auto scaling of provisioned capacity, for a table and each of its indexes."""

    read: int = 5
    write: int = 5
    #: target utilization in percent
    target: int = 70
    #: minimum and maximum capacity units
    least: int = 5
    most: int = 100


@dataclass(frozen=True)
class Alarms:
    """Thresholds of alarms. Rates are fractions of all requests."""

    throttled: float = 0.01
    #: average latency in milliseconds
    latency: float = 100.0
    user_errors: float = 0.05
    #: evaluation period in seconds, and the number of consecutive bad periods that raise an alarm
    period: int = 300
    looks: int = 3


@dataclass(frozen=True)
class Backups:
    """Backups of tables, and recovery targets."""

    #: days of point-in-time recovery
    recovery_days: int = 35
    #: hour (UTC) of a daily backup, and its retention in days
    hour: int = 2
    kept_days: int = 30
    #: targets in seconds: how long recovery may take (RTO), and how much of the latest writes may be lost (RPO)
    recovery_time: int = 4 * 3600
    recovery_point: int = 5 * 60


@dataclass(frozen=True)
class Load:
    """The planned load of tables."""

    #: the average and the maximum size of an item in bytes
    item_bytes: int = 2 * 1024
    largest_item_bytes: int = 10 * 1024
    items: int = 10_000
    #: the fraction of requests that are reads
    reads: float = 0.8


@dataclass(frozen=True)
class OperatingPlan:
    """The operating plan of tables."""

    scaling: Scaling = field(default_factory=Scaling)
    alarms: Alarms = field(default_factory=Alarms)
    backups: Backups = field(default_factory=Backups)
    load: Load = field(default_factory=Load)


@dataclass(frozen=True)
class RecoveryDrill:
    """The measured result of a recovery drill, compared with the plan."""

    #: how long the restore took, and how much of the latest writes was lost, in seconds
    seconds: float
    lost: float
    plan: Backups

    @property
    def passed(self) -> bool:
        """Whether both recovery targets were met."""
        return self.seconds <= self.plan.recovery_time and self.lost <= self.plan.recovery_point


def operations(
    tables: Iterable[Table],
    plan: OperatingPlan,
    *,
    billing: Literal["on-demand", "provisioned"] = "on-demand",
    prefix: str = "",
    table_names: Mapping[str, str] | None = None,
) -> Document:
    """CloudFormation resources by logical name: alarms, a backup plan and, with provisioned billing, auto scaling."""
    setup = Setup(prefix=prefix, table_names=table_names or {})
    found: Document = {}
    names = []
    for table in tables:
        name = setup.name_of(table)
        names.append(name)
        found |= _alarms(name, plan.alarms)
        if billing == "provisioned":
            for index in (None, *(one["IndexName"] for one in table.definition().get("GlobalSecondaryIndexes", []))):
                found |= _scaling(name, index, plan.scaling)
    return found | _backups(names, plan.backups)


def _alarms(table: str, alarms: Alarms) -> Document:
    word = _logical_id(table)
    requests = _metric("requests", table, "SuccessfulRequestLatency", "SampleCount", alarms.period)
    rates = {
        "Throttled": ("ThrottledRequests", alarms.throttled),
        "UserErrors": ("UserErrors", alarms.user_errors),
        "SystemErrors": ("SystemErrors", alarms.throttled),
    }
    found: Document = {}
    for name, (metric, most) in rates.items():
        # UserErrors are counted per account and region.
        bad = _metric("bad", None if metric == "UserErrors" else table, metric, "Sum", alarms.period)
        rate = {"Id": "rate", "Expression": "bad / (requests + bad)", "ReturnData": True}
        properties = {"Metrics": [rate, bad, requests], "Threshold": most, **_alarm_settings(table, name, alarms)}
        found[f"{word}{name}Alarm"] = {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}
    latency = {
        "Namespace": "AWS/DynamoDB",
        "MetricName": "SuccessfulRequestLatency",
        "Dimensions": [{"Name": "TableName", "Value": table}],
        "Statistic": "Average",
        "Period": alarms.period,
        "Threshold": alarms.latency,
        **_alarm_settings(table, "Latency", alarms),
    }
    found[f"{word}LatencyAlarm"] = {"Type": "AWS::CloudWatch::Alarm", "Properties": latency}
    return found


def _alarm_settings(table: str, name: str, alarms: Alarms) -> Document:
    return {
        "AlarmName": f"{table}-{name}",
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": alarms.looks,
        "TreatMissingData": "notBreaching",
    }


def _metric(name: str, table: str | None, metric: str, statistic: str, period: int) -> Document:
    dimensions = [] if table is None else [{"Name": "TableName", "Value": table}]
    specification = {"Namespace": "AWS/DynamoDB", "MetricName": metric, "Dimensions": dimensions}
    return {"Id": name, "MetricStat": {"Metric": specification, "Period": period, "Stat": statistic}, "ReturnData": False}


def _scaling(table: str, index: str | None, scaling: Scaling) -> Document:
    resource = f"table/{table}" if index is None else f"table/{table}/index/{index}"
    scope = "table" if index is None else "index"
    found: Document = {}
    for kind in ("Read", "Write"):
        word = f"{_logical_id(table)}{_logical_id(index or '')}{kind}"
        dimension = f"dynamodb:{scope}:{kind}CapacityUnits"
        found[f"{word}Target"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "ServiceNamespace": "dynamodb",
                "ResourceId": resource,
                "ScalableDimension": dimension,
                "MinCapacity": scaling.least,
                "MaxCapacity": scaling.most,
            },
        }
        tracking = {"PredefinedMetricSpecification": {"PredefinedMetricType": f"DynamoDB{kind}CapacityUtilization"}}
        found[f"{word}Policy"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {
                "PolicyName": f"{word}Policy",
                "PolicyType": "TargetTrackingScaling",
                "ScalingTargetId": {"Ref": f"{word}Target"},
                "TargetTrackingScalingPolicyConfiguration": {**tracking, "TargetValue": scaling.target},
            },
        }
    return found


def _backups(tables: list[str], backups: Backups) -> Document:
    rule = {
        "RuleName": "daily",
        "TargetBackupVault": "Default",
        "ScheduleExpression": f"cron(0 {backups.hour} * * ? *)",
        "Lifecycle": {"DeleteAfterDays": backups.kept_days},
    }
    arns = [{"Fn::Sub": f"arn:${{AWS::Partition}}:dynamodb:${{AWS::Region}}:${{AWS::AccountId}}:table/{name}"} for name in tables]
    role = {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/service-role/AWSBackupDefaultServiceRole"}
    selection = {"SelectionName": "tables", "IamRoleArn": role, "Resources": arns}
    return {
        "DailyBackup": {
            "Type": "AWS::Backup::BackupPlan",
            "Properties": {"BackupPlan": {"BackupPlanName": "daily", "BackupPlanRule": [rule]}},
        },
        "DailyBackupSelection": {
            "Type": "AWS::Backup::BackupSelection",
            "Properties": {"BackupPlanId": {"Ref": "DailyBackup"}, "BackupSelection": selection},
        },
    }


def _logical_id(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


@dataclass(frozen=True)
class Billing:
    """The cheaper billing mode for a measured baseline, and the monthly cost of each in US dollars."""

    on_demand: float
    provisioned: float

    @property
    def cheaper(self) -> Literal["on-demand", "provisioned"]:
        """The cheaper mode."""
        return "provisioned" if self.provisioned < self.on_demand else "on-demand"


@dataclass(frozen=True)
class Prices:
    """US dollars per million on-demand request units, and per provisioned unit and hour. Defaults: us-east-1, since November 2024."""

    million_reads: float = 0.125
    million_writes: float = 0.625
    read_hour: float = 0.00013
    write_hour: float = 0.00065


def compare_billing(reads: float, writes: float, scaling: Scaling, prices: Prices | None = None) -> Billing:
    """Compare the monthly cost of both billing modes, for a table with a steady load of read and write units per second.

    Provisioned capacity is computed as the load divided by the target utilization. A load with peaks costs more than this.
    """
    paid = prices or Prices()
    seconds = _HOURS * _HOUR
    on_demand = (reads * paid.million_reads + writes * paid.million_writes) * seconds / 1e6
    provisioned = sum(
        min(max(used * 100 / scaling.target, scaling.least), scaling.most) * price * _HOURS
        for used, price in ((reads, paid.read_hour), (writes, paid.write_hour))
    )
    return Billing(round(on_demand, 2), round(provisioned, 2))

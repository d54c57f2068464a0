"""Monitoring data of queues: statistics, history, job trees, metrics.

Methods of a queue, and functions for their results:

    stats = queue.stats("default")                      waiting, running, throughput, percentiles of the last minutes
    hours = queue.history(hours=24)                     counts by minute; `series` and `moments` make charts of them
    branch = queue.tree(job_id)                         a job with its descendants and their progress
    metrics([stats])                                    named numbers for Prometheus or CloudWatch
"""

from gateleg.jobs.monitor.listing import Branch, last_failure
from gateleg.jobs.monitor.stats import Count, Metric, QueueStats, Work, metrics, moments, quantile, series

__all__ = [
    "Branch",
    "Count",
    "Metric",
    "QueueStats",
    "Work",
    "last_failure",
    "metrics",
    "moments",
    "quantile",
    "series",
]

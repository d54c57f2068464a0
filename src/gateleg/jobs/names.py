"""Names of queues, job types, schedules and workers."""

import re

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,100}")


def is_name(text: str) -> bool:
    """Whether a text can name a queue, a job type or a worker. Names become parts of keys, so their characters are restricted."""
    return _NAME.fullmatch(text) is not None

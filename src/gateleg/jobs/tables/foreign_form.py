"""Jobs that other programs have written, in the form that the model writes. Pure.

The table of jobs is an interface: other programs put jobs into it and claim them, and write some things differently. A time without a
time zone is UTC. NULL and an empty text mean that the attribute is absent, and so does a worker of a job that never started. Numbers may be
texts, and maps may be JSON. What cannot be converted is left as it is, so that the error of reading it names it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from gateleg.model.errors import ModelError
from gateleg.model.wire import iso, wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.model.wire import Item, Value

__all__ = ["LISTS", "MAPS", "NUMBERS", "TEXTS", "TIMES", "in_model_form", "is_absent"]

#: The attributes of a job by the form that is expected. All others have a form of their own.
TIMES = ("created_at", "updated_at", "started_at", "completed_at", "run_at", "delayed_at", "start_by", "cancel_requested", "lease_until")
NUMBERS = (
    *("priority", "retry_count", "max_retries", "timeout_seconds", "version", "attempt", "losses", "snoozes", "emitted"),
    "concurrency_limit",
)
TEXTS = (
    *("worker_id", "job_type", "created_by", "tenant", "owner", "queue", "cancel_reason", "lease_token", "job_stage", "tree_path"),
    *("concurrency_key", "idempotency_key", "unique_key"),
)
LISTS = ("dependencies", "dependent_jobs", "attempts", "tags")
MAPS = ("job_config", "job_results", "logs", "progress")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Numbers of at least this size are milliseconds since 1970; as seconds, they would be after the year 5000.
_MILLISECONDS = 10**11
#: No number of a job is larger; adding to one that is may exceed what can be stored.
_LARGEST_NUMBER = 10**15
_RESULT_TYPES = ("SUCCESS", "FAILURE", "CANCELLED")
_RESULT_OF_STATUS = {"FAILED": "FAILURE", "CANCELLED": "CANCELLED"}


def in_model_form(item: Item, subject: str) -> Item:
    """The item of a job in the form that the model writes. `subject` is the name of the attribute for the job's subject."""
    present = {name: value for name, value in item.items() if name == "job_id" or not is_absent(value)}
    if "worker_id" in present and "started_at" not in present and "job_type" in present:
        # The public schema's index needs a worker even for a job that has none: a placeholder, whatever it says.
        del present["worker_id"]
    for names, convert in _CONVERSIONS:
        for name in names:
            if name in present:
                present[name] = convert(present[name])
    if subject in present:
        present[subject] = _text(present[subject])
    if "updated_at" not in present and "created_at" in present and "job_type" in present:
        present["updated_at"] = present["created_at"]
    if "logs" in present:
        present["logs"] = _logs(present["logs"], present.get("updated_at") or {"S": iso(_EPOCH)})
    if "job_results" in present:
        present["job_results"] = _results(present["job_results"], present.get("status", {}).get("S", ""))
    return present


def is_absent(value: Value) -> bool:
    """Whether a value means that the attribute is absent."""
    return "NULL" in value or value in ({"S": ""}, {"M": {}}, {"S": "{}"})


def _content(value: Value, kind: str) -> Any:
    """The content of a wire value of one kind; None for another kind."""
    return value.get(kind)


def _time(value: Value) -> Value:
    """A time: ISO 8601 with or without a time zone, or seconds or milliseconds since 1970."""
    text = _content(value, "S") or _content(value, "N")
    if not isinstance(text, str):
        return value
    try:
        time = datetime.fromisoformat(text.strip()) if "S" in value and not _is_number(text) else _since_epoch(text)
        return {"S": iso(time if time.tzinfo is not None else time.replace(tzinfo=UTC))}
    except (ValueError, OverflowError, ArithmeticError):
        return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # Eight digits are a date.
    return len(text) != 8


def _since_epoch(text: str) -> datetime:
    seconds = float(text)
    return _EPOCH + timedelta(seconds=seconds / 1000 if abs(seconds) >= _MILLISECONDS else seconds)


def _whole_number(value: Value) -> Value:
    """A whole number: as a text, or with decimal places that are zero."""
    text = _content(value, "N") or _content(value, "S")
    if not isinstance(text, str):
        return value
    try:
        number = Decimal(text.strip())
        plausible = abs(number) < _LARGEST_NUMBER and number == number.to_integral_value()
        return {"N": str(int(number))} if plausible else value
    except (InvalidOperation, ValueError, OverflowError):
        return value


def _text(value: Value) -> Value:
    return {"S": value["N"]} if "N" in value else value


def _list(value: Value) -> Value:
    """A list: as a set, or as JSON."""
    if "SS" in value:
        return {"L": [{"S": text} for text in value["SS"]]}
    return _from_json(value, list)


def _map(value: Value) -> Value:
    return _from_json(value, dict)


def _from_json(value: Value, kind: type) -> Value:
    """The list or map in a JSON text; the value itself if it is no such text."""
    text = _content(value, "S")
    if not isinstance(text, str):
        return value
    try:
        content = json.loads(text, parse_float=Decimal)
        return wire(content) if isinstance(content, kind) else value
    except (ValueError, RecursionError, ModelError):
        return value


_CONVERSIONS: tuple[tuple[tuple[str, ...], Callable[[Value], Value]], ...] = (
    (TIMES, _time),
    (NUMBERS, _whole_number),
    (TEXTS, _text),
    (LISTS, _list),
    (MAPS, _map),
)


def _logs(value: Value, otherwise: Value) -> Value:
    """The log: a map with entries, or only its entries, or a text. Entries without a readable time have the time `otherwise`."""
    content = value.get("M")
    if not isinstance(content, dict):
        content = {"entries": value if "L" in value else {"L": [value]}}
    present = {name: part for name, part in content.items() if not is_absent(part)}
    entries = present.get("entries", {"L": []})
    listed = entries.get("L", [entries])
    known: Item = {"entries": {"L": [_log_entry(entry, otherwise) for entry in listed]}}
    if "earlier" in present:
        known["earlier"] = _whole_number(present["earlier"])
    return {"M": present | known}


def _log_entry(value: Value, otherwise: Value) -> Value:
    content = value.get("M")
    if not isinstance(content, dict):
        return {"M": {"timestamp": otherwise, "level": {"S": "INFO"}, "message": {"S": _shown(value)}}}
    present = {name: part for name, part in content.items() if not is_absent(part)}
    time, message = _time(present.get("timestamp", otherwise)), _shown(present.get("message", {"S": ""}))
    if not _is_time(time):
        time, message = otherwise, f"{_shown(time)} {message}"
    return {"M": present | {"timestamp": time, "level": {"S": _shown(present.get("level", {"S": "INFO"}))}, "message": {"S": message}}}


def _is_time(value: Value) -> bool:
    """Whether the value is a time in the form of the model."""
    return value == _time(value) and len(value.get("S", "")) == len("2025-01-01T00:00:00.000000Z")


def _shown(value: Value) -> str:
    """A value as text."""
    content = next(iter(value.values()))
    return content if isinstance(content, str) else json.dumps(value)


def _results(value: Value, status: str) -> Value:
    """The results: a map, or only a value. The status of the job decides their type, if they do not say it."""
    otherwise = _RESULT_OF_STATUS.get(status, "SUCCESS")
    content = value.get("M")
    if not isinstance(content, dict):
        return {"M": {"result_type": {"S": otherwise}, "value": value}}
    present = {name: part for name, part in content.items() if not is_absent(part)}
    kind = _shown(present.get("result_type", {"S": otherwise})).upper()
    if kind in _RESULT_TYPES:
        present["result_type"] = {"S": kind}
    if "output_location" in present:
        present["output_location"] = _locations(_map(present["output_location"]))
    if "summary_metrics" in present:
        metrics = _map(present["summary_metrics"])
        present["summary_metrics"] = metrics if "M" in metrics else {"M": {"metrics": metrics}}
    return {"M": present}


def _locations(value: Value) -> Value:
    """The locations of outputs: a map of lists of texts, or anything simpler."""
    content = value.get("M", {"locations": value})
    return {"M": {kind: {"L": [{"S": _shown(entry)} for entry in _entries(part)]} for kind, part in content.items()}}


def _entries(value: Value) -> list[Value]:
    if "L" in value:
        return [entry for entry in value["L"] if not is_absent(entry)]
    if "SS" in value:
        return [{"S": text} for text in value["SS"]]
    return [] if is_absent(value) else [value]

"""Log formats: text for people, or one JSON object per line. Credentials are never logged."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gateleg.store.errors import without_credentials

if TYPE_CHECKING:
    from gateleg.host.settings import Settings

#: Fields of our log records besides the message.
_MEMBERS = ("request_id", "method", "path", "status", "ms", "caller")
#: Fields of the log records of a worker's attempts.
_ATTEMPT = ("job_id", "job_type", "queue", "attempt", "worker", "outcome", "seconds", "error")
_TOKEN = re.compile(r"gl_(?:[a-z2-7]{12}|local)_[A-Za-z0-9_-]{43}|(?<=signature=)[A-Za-z0-9_-]{20,}")


#: Characters that end a line, move the cursor, colour a terminal or change the direction of text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def redacted(text: str) -> str:
    """A text without keys, signatures and passwords."""
    return without_credentials(_TOKEN.sub("(hidden)", text))


def one_line(text: str) -> str:
    """A text with its control characters escaped, so that content of a request cannot forge a log line."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class JsonFormatter(logging.Formatter):
    """One JSON object for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: getattr(record, name) for name in (*_MEMBERS, *_ATTEMPT) if getattr(record, name, None) is not None}
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return one_line(redacted(json.dumps(fields, ensure_ascii=False, default=str)))


class HumanLines(logging.Formatter):
    """The time, the level and the message; for requests, the method, path, status and duration."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line, with the rest of its message and its traceback below."""
        moment = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        if hasattr(record, "status"):
            text = " ".join(str(getattr(record, name, "")) for name in ("status", "method", "path", "ms")) + " ms"
            text += f" {caller}" if (caller := getattr(record, "caller", None)) else ""
            below = []
        else:
            text, *below = record.getMessage().split("\n")
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        if record.exc_info:
            below += self.formatException(record.exc_info).split("\n")
        # Indented, so that no error message looks like a log line.
        lines = [f"{moment} {level}{text}", *(f"    {line}" for line in below)]
        return "\n".join(one_line(redacted(line)) for line in lines)


def set_up_logs(settings: Settings) -> None:
    """Configure logging of this process to standard error, as the settings say."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log == "json" else HumanLines())
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name.partition(".")[0] == "gateleg")
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Records of other libraries below warnings are not for operators; handlers of jobs have them in the log of their job.
    root.setLevel(logging.INFO)
    logging.getLogger("gateleg").setLevel(settings.log_level.upper())

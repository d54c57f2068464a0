import json
import logging

from gateleg.host.logs import HumanLines, JsonFormatter, redacted

TOKEN = "gl_abcdefghijkl_" + "A" * 43


def record(message: str, **members: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "gateleg.web", "levelno": logging.INFO, "levelname": "INFO", "msg": message})
    made.__dict__.update(members)
    return made


def test_a_json_line_is_one_object_with_what_is_known() -> None:
    line = JsonFormatter().format(record("a\nb", request_id="r", status=200, caller=None))
    assert "\n" not in line
    told = json.loads(line)
    assert (told["message"], told["level"], told["request_id"], told["status"]) == ("a\nb", "info", "r", 200)
    assert "caller" not in told


def test_a_line_for_people_says_how_a_request_went() -> None:
    line = HumanLines().format(record("request", method="GET", path="/api/jobs", status=200, ms=1.5, caller="ann"))
    assert line.endswith("200 GET /api/jobs 1.5 ms ann")
    assert HumanLines().format(record("up")).endswith(" up")


def test_a_fault_keeps_its_trace() -> None:
    try:
        raise ValueError("no")
    except ValueError as error:
        made = record("failed", exc_info=(ValueError, error, error.__traceback__))
    assert "ValueError: no" in HumanLines().format(made)
    assert "ValueError: no" in json.loads(JsonFormatter().format(made))["trace"]


def test_a_message_of_several_lines_is_indented_below_its_first() -> None:
    first, *rest = HumanLines().format(record("It is at\n  File a.py\n    wait()\x1b[31m")).split("\n")
    assert first.endswith(" It is at")
    assert rest == ["      File a.py", "        wait()\\u001b[31m"]


def test_keys_and_signatures_never_get_into_a_line() -> None:
    text = f"bearer {TOKEN} /objects/a?expires=1&signature={'s' * 43}"
    assert redacted(text) == "bearer (hidden) /objects/a?expires=1&signature=(hidden)"
    assert TOKEN not in JsonFormatter().format(record(text)) + HumanLines().format(record(text))


FORGED = "/api/x\n12:00:00 200 GET /api/keys 1.0 ms ann \x1b[31m\u2028\x9b\u202e"


def test_nothing_that_a_request_brings_begins_a_line_or_colours_a_terminal() -> None:
    made = record(FORGED, method="GET", path=FORGED, status=404, ms=1.0, caller=FORGED)
    fault = record(FORGED, exc_info=(ValueError, ValueError(FORGED), None))
    for line in (HumanLines().format(made), JsonFormatter().format(made), JsonFormatter().format(fault)):
        assert line.isprintable(), line
    first, *rest = HumanLines().format(fault).split("\n")
    assert first.isprintable()
    assert all(line.startswith("    ") and line.isprintable() for line in rest)
    assert json.loads(JsonFormatter().format(made))["path"] == FORGED


def test_passwords_in_addresses_never_get_into_a_line() -> None:
    text = "cannot reach https://ann:pa55word@db.example:8000/x and redis://:pa55word@cache"
    line = HumanLines().format(record(text))
    assert "pa55word" not in line
    assert "https://(hidden)@db.example:8000/x" in line

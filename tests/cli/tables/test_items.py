"""Query, browse, tools and shell."""

import json

import pytest

from tests.cli.tables.commands import TableCommands


def test_a_question_is_asked_with_typed_arguments_page_by_page(filled: TableCommands) -> None:
    first = filled.json("query", "Job.ready", "--arg", "queue=default", "--limit", "3")
    assert [item["priority"] for item in first["items"]] == [4, 3, 2]
    rest = filled.json("query", "Job.ready", "--arg", "queue=default", "--limit", "3", "--cursor", first["cursor"])
    assert [item["priority"] for item in rest["items"]] == [1, 0]
    assert rest["cursor"] is None


def test_a_question_can_be_turned_round_and_counted(filled: TableCommands) -> None:
    turned = filled.json("query", "Job.ready", "--arg", "queue=default", "--reverse", "--limit", "1")
    assert [item["priority"] for item in turned["items"]] == [0]
    assert filled.run("query", "Job.ready", "--arg", "queue=default", "--count").stdout == "5\n"


@pytest.mark.parametrize(
    ("options", "priorities"),
    [
        (["--where", "priority>=3"], [3, 4]),
        (["--where", "priority = 1..2"], [1, 2]),
        (["--filter", "status=PEND*", "--filter", "conversation_id!=d", "--where", "priority<1"], [0]),
    ],
)
def test_a_question_is_narrowed_and_filtered(filled: TableCommands, options: list[str], priorities: list[int]) -> None:
    found = filled.json("query", "Job.of_type", "--arg", "job_type=report", *options)["items"]
    assert sorted(item["priority"] for item in found) == priorities


@pytest.mark.parametrize(
    ("where", "words"), [("priority", "is not a comparison"), ("size>1", "has no attribute size"), ("priority>high", "cannot be 'high'")]
)
def test_a_comparison_that_means_nothing_is_explained(filled: TableCommands, where: str, words: str) -> None:
    result = filled.run("query", "Job.of_type", "--arg", "job_type=report", "--where", where)
    assert result.exit_code == 2
    assert words in result.stderr


def test_patterns_are_offered_to_language_models(filled: TableCommands) -> None:
    call = {"name": "Job_of_type", "arguments": {"job_type": "report", "limit": 2}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "",
        "not JSON",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ]
    answers = [json.loads(line) for line in filled.run("mcp", input="\n".join(lines) + "\n").stdout.splitlines()]
    assert [answer.get("id") for answer in answers] == [1, None, 2]
    assert [item["priority"] for item in answers[2]["result"]["structuredContent"]["items"]] == [4, 3]


def test_a_prompt_has_the_store_and_the_entities_at_hand(filled: TableCommands) -> None:
    result = filled.run("shell", input='print("found", store.count(Job.of_type, job_type="report"))\n')
    assert "found 5" in result.stdout


def test_a_cursor_of_another_question_is_refused(filled: TableCommands) -> None:
    first = filled.json("query", "Job.ready", "--arg", "queue=default", "--limit", "1")
    assert filled.run("query", "Job.ready", "--arg", "queue=else", "--cursor", first["cursor"]).exit_code == 1


def test_browsing_shows_each_entity_by_itself(filled: TableCommands) -> None:
    lines = [line.strip() for line in filled.run("browse", "MVProjects").stdout.splitlines()]
    assert lines.index("Project") < next(at for at, line in enumerate(lines) if "A storm" in line) < lines.index("Scene")
    assert [item["SK"] for item in filled.json("browse", "Scene")["items"]] == ["SCENE#001", "SCENE#002"]


def test_no_line_is_wider_than_the_terminal(filled: TableCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for arguments in (["browse", "MVProjects"], ["plan"], ["lint"]):
        assert max(len(line) for line in filled.run(*arguments).stdout.splitlines()) <= 60


def test_a_table_that_is_not_declared_can_be_browsed(filled: TableCommands) -> None:
    assert len(filled.json("browse", "DelphiJobQueue", seeds=())["items"]) == 5

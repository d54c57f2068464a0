from gateleg.apps.agents.web.line_diff import changed_lines


def test_changed_lines_stand_between_those_around_them() -> None:
    before = "\n".join(f"line {number}" for number in range(10))
    after = before.replace("line 5", "another line")
    assert changed_lines(before, after) == [
        ("gap", "3 unchanged lines"),
        ("same", "line 3"),
        ("same", "line 4"),
        ("removed", "line 5"),
        ("added", "another line"),
        ("same", "line 6"),
        ("same", "line 7"),
        ("gap", "2 unchanged lines"),
    ]


def test_few_lines_are_not_worth_a_gap() -> None:
    assert changed_lines("a\nb", "a\nc") == [("same", "a"), ("removed", "b"), ("added", "c")]


def test_a_text_that_is_new_is_added() -> None:
    assert changed_lines("", "a") == [("added", "a")]


def test_a_very_long_comparison_is_cut() -> None:
    found = changed_lines("", "\n".join(f"line {number}" for number in range(1_000)))
    assert found[-1] == ("gap", "600 more lines")

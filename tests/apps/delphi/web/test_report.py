from gateleg.apps.delphi.web.report import by_kind, title_of


def test_files_are_offered_by_kind_and_in_words() -> None:
    files = {"data/comment-groups.csv": "/c", "report.html": "/r", "maps/layer_0.svg": "/l", "maps/groups.png": "/g", "report.pdf": "/p"}
    assert [(title, own) for title, _, own in by_kind(files)] == [
        ("Pages (HTML)", [("Report", "/r")]),
        ("To print (PDF)", [("Report", "/p")]),
        ("Pictures (PNG)", [("Groups", "/g")]),
        ("Drawings (SVG)", [("Topics, layer 1", "/l")]),
        ("Tables (CSV)", [("Votes by group", "/c")]),
    ]


def test_a_file_without_words_is_called_by_its_name() -> None:
    assert title_of("maps/other.svg") == "other"

from gateleg.apps.delphi.reports.manifest import leftovers, manifest_of

FIRST = {"report.html": b"one", "maps/layer_1.svg": b"two", "data/a.csv": b"three"}


def test_what_the_next_run_does_not_have_is_left_over() -> None:
    assert leftovers(manifest_of(FIRST), {"report.html", "data/a.csv"}, FIRST.get) == ["maps/layer_1.svg"]


def test_what_somebody_has_changed_or_removed_stays_as_it_is() -> None:
    now = {**FIRST, "maps/layer_1.svg": b"mine"}
    assert leftovers(manifest_of(FIRST), {"report.html"}, now.get) == ["data/a.csv"]
    assert leftovers(manifest_of(FIRST), {"report.html"}, lambda name: None) == []


def test_a_manifest_that_is_none_or_leads_elsewhere_removes_nothing() -> None:
    elsewhere = {"../other.txt": b"x", "/etc/other": b"y"}
    assert leftovers(manifest_of(elsewhere), set(), elsewhere.get) == []
    assert [leftovers(text, set(), FIRST.get) for text in (b"", b"{", b"[1]", b'{"report.html": 5}')] == [[], [], [], []]

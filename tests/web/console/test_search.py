import pytest

from gateleg.web.console.search import SearchResult, exact, matching, uuid_of

PLACES = [SearchResult("Page", title, f"/{title}", "star") for title in ("Jobs", "Failed", "Job archive", "Tables")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("job", ["Jobs", "Job archive"]),
        ("failed", ["Failed"]),
        ("archive job", ["Job archive"]),
        ("TABLES", ["Tables"]),
        ("xyz", []),
    ],
)
def test_a_search_finds_names_with_all_its_words(text: str, found: list[str]) -> None:
    assert [result.title for result in matching(PLACES, text)] == found


def test_what_begins_with_the_text_comes_first() -> None:
    results = [SearchResult("Table", "old-jobs", "/a", ""), SearchResult("Page", "Jobs of today", "/b", "")]
    assert [result.title for result in matching(results, "jobs")] == ["Jobs of today", "old-jobs"]


@pytest.mark.parametrize(("text", "known"), [(" 3f2a9c1e-0000-4000-8000-000000000000 ", True), ("3f2a9c1e", False), ("", False)])
def test_an_id_is_recognised(text: str, known: bool) -> None:
    assert (uuid_of(text) is not None) is known


def test_a_text_leads_straight_to_the_only_place_that_it_names() -> None:
    assert exact(PLACES, "jobs") == PLACES[0]
    assert exact(PLACES, "job") is None
    job = SearchResult("Job", "REEL", "/jobs/1", "")
    assert exact([job, *PLACES], "3f2a9c1e-0000-4000-8000-000000000000") == job

from datetime import UTC, datetime

import pytest

from gateleg.apps.rag.errors import BadValue
from gateleg.apps.rag.pipelines.matching import SourceObject, check_pipeline, cron_of, matches, needs_ingestion
from gateleg.apps.rag.tables import Document, Pipeline


@pytest.mark.parametrize(
    ("key", "include", "exclude", "taken"),
    [
        ("legal/a.pdf", [], [], True),
        ("legal/deep/a.pdf", ["*.pdf"], [], True),
        ("legal/a.txt", ["*.pdf"], [], False),
        ("legal/drafts/a.pdf", [], ["drafts/*"], False),
        ("legal/a.pdf", [], ["*.pdf"], False),
        ("other/a.pdf", [], [], False),
        ("legal/", [], [], False),
        ("legal/a.pdf.metadata.json", [], [], False),
        ("legal/.hidden/a.pdf", [], [], False),
    ],
)
def test_patterns_choose_keys_below_the_prefix(key: str, include: list[str], exclude: list[str], taken: bool) -> None:
    assert matches(key, "legal/", include, exclude) is taken


def test_an_object_is_due_when_it_is_another() -> None:
    seen = SourceObject("a", 1, "tag", datetime(2026, 1, 1, tzinfo=UTC))
    document = Document(repository_id="r", collection_id="c", source_etag="tag")
    assert needs_ingestion(seen, None)
    assert not needs_ingestion(seen, document)
    assert needs_ingestion(seen, document.model_copy(update={"source_etag": "old"}))


def test_a_schedule_runs_at_midnight_unless_it_says_otherwise() -> None:
    assert cron_of(Pipeline(trigger="event", cron="* * * * *")) is None
    assert cron_of(Pipeline(trigger="daily")) == "0 0 * * *"
    assert cron_of(Pipeline(trigger="schedule", cron="*/5 * * * *")) == "*/5 * * * *"


@pytest.mark.parametrize(
    "pipeline",
    [
        Pipeline(s3_prefix="/legal"),
        Pipeline(s3_prefix="a/../b"),
        Pipeline(trigger="schedule", cron="61 * * * *"),
        Pipeline(trigger="schedule", cron="0 0 * * *", timezone="Mars/Olympus"),
    ],
)
def test_what_cannot_be_followed_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(BadValue):
        check_pipeline(pipeline)

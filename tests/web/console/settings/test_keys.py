from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateleg.host.tables import ApiKey
from gateleg.web.console.settings.keys import COLUMNS, ENDED, GOOD, REVOKED, end_of, key_badge, key_row
from tests.web.console.jobs.samples import NOW


def key(**values: Any) -> ApiKey:
    return ApiKey(
        **{"key_id": "abc", "name": "robot", "digest": "secret", "role": "viewer", "created_at": NOW, "created_by": "ana", **values}
    )


def test_a_key_is_active_expired_or_revoked() -> None:
    assert key_badge(key(), NOW) is GOOD
    assert key_badge(key(ends_at=NOW), NOW) is ENDED
    assert key_badge(key(ends_at=NOW + timedelta(days=1)), NOW) is GOOD
    assert key_badge(key(revoked_at=NOW), NOW) is REVOKED


def test_only_an_active_key_can_be_revoked() -> None:
    assert key_row(key(), NOW).cells["deeds"] is not None
    assert key_row(key(revoked_at=NOW), NOW).cells["deeds"] is None


def test_a_row_has_no_digest() -> None:
    row = key_row(key(groups={"b", "a"}, tenant="t1"), NOW)
    assert "secret" not in str(row)
    assert [part["text"] for part in row.cells["groups"] if isinstance(part, dict)] == ["a", "b", "tenant t1"]  # type: ignore[union-attr]
    assert set(row.cells) == {column.key for column in COLUMNS}


def test_a_key_ends_at_the_end_of_a_day() -> None:
    assert end_of("2026-03-01") == datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    assert end_of("") is None
    with pytest.raises(ValueError, match="2026-3"):
        end_of("2026-3")

from pathlib import Path

import pytest

from gateleg.web.host import Host, place_of
from gateleg.web.settings import Settings


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("embedded:./data", "embedded, ./data"),
        ("embedded:./data?durability=relaxed", "embedded, ./data, relaxed durability"),
        ("embedded::memory:", "embedded, :memory:"),
        ("dynamodb:eu-west-1", "DynamoDB, eu-west-1"),
        ("dynamodb:", "DynamoDB, default region"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_where_the_data_is_and_how_safe_is_told_in_a_few_words(address: str, told: str) -> None:
    assert place_of(address) == told


async def test_settings_say_how_long_finished_jobs_stay(tmp_path: Path) -> None:
    settings = Settings(store="embedded::memory:", data=tmp_path, finished_days=2, failed_days=90)
    async with Host.open(settings) as host:
        kept = host.queue.context.settings.retention
    assert {status.value: days.days for status, days in kept.items()} == {"COMPLETED": 2, "CANCELLED": 2, "FAILED": 90}

"""An endpoint on a file, and a boto3 resource that talks to it."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine

KEY, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "us-east-1"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = str(tmp_path_factory.mktemp("seed") / "gateleg.db")
    with Engine(path, durability="relaxed") as engine, serve_in_thread(engine) as url:
        yield url


@pytest.fixture(scope="module")
def dynamodb(url: str) -> Any:
    return boto3.resource("dynamodb", endpoint_url=url, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name=REGION)

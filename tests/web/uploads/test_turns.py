"""Whose turn it is to upload."""

import pytest

from gateleg.web.uploads import UploadUnderWay
from gateleg.web.uploads.turns import Turns


def test_a_key_has_one_turn_and_a_host_a_few() -> None:
    turns = Turns(2)
    with turns.take("ann"):
        with pytest.raises(UploadUnderWay, match="same key"), turns.take("ann"):
            pass
        with turns.take("bob"), pytest.raises(UploadUnderWay, match="Others"), turns.take("eve"):
            pass
        with turns.take("eve"):
            pass

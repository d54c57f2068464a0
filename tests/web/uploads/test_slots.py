"""Whose turn it is to upload."""

import pytest

from gateleg.web.uploads import UploadInProgress
from gateleg.web.uploads.fields import UploadSlots


def test_a_key_has_one_turn_and_a_host_a_few() -> None:
    slots = UploadSlots(2)
    with slots.hold("ann"):
        with pytest.raises(UploadInProgress, match="same API key"), slots.hold("ann"):
            pass
        with slots.hold("bob"), pytest.raises(UploadInProgress, match="limit of 2"), slots.hold("eve"):
            pass
        with slots.hold("eve"):
            pass

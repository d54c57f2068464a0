import stat
from pathlib import Path

import pytest

from gateleg.host.host_secret import SecretCutShort, given_secret, kept_secret


def test_a_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    first = kept_secret(folder)
    assert kept_secret(folder) == first
    assert [path.name for path in folder.iterdir()] == ["secret"]
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
    assert kept_secret(tmp_path) != first


def test_a_secret_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("abc")
    with pytest.raises(SecretCutShort, match="or delete it"):
        kept_secret(tmp_path)
    with pytest.raises(ValueError, match="16 bytes"):
        given_secret("abc")


def test_a_secret_that_others_can_open_is_named_and_stays_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept_secret(tmp_path)
    secret = tmp_path / "secret"
    secret.chmod(0o640)
    kept_secret(tmp_path)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o640
    assert [record.message.rpartition(": ")[2] for record in caplog.records] == [f"chmod 600 {secret}"]

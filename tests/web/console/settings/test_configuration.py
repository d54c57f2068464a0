from gateleg.host.settings import load_settings
from gateleg.web.console.settings.page import SETTING_COLUMNS as COLUMNS
from gateleg.web.console.settings.page import setting_rows


def test_what_somebody_has_set_comes_first_with_its_origin() -> None:
    rows = setting_rows(load_settings(flags={"port": 9000}, environ={"GATELEG_PREFIX": "x-"}))
    assert {row.id for row in rows[:2]} == {"port", "prefix"}
    assert rows[0].cells["origin"] in ({"t": "tag", "text": "--port"}, {"t": "tag", "text": "GATELEG_PREFIX"})
    assert all(set(row.cells) == {column.key for column in COLUMNS} for row in rows)


def test_a_secret_stays_one() -> None:
    rows = setting_rows(load_settings(flags={"secret": "correct horse battery staple"}))
    assert "horse" not in str(rows)

import pytest

from gateleg.engine.errors import EngineError
from gateleg.engine.partiql.statements import read_parameters

from .client import PartiQL

REFUSED = "The parameter cannot be converted to a numeric value"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e99999999999", f"{REFUSED}: 1e99999999999"),
        ("1e2147483648", f"{REFUSED}: 1e2147483648"),
        ("1e-2147483648", f"{REFUSED}: 1e-2147483648"),
        ("1e2147483647", UNDERFLOW),
        ("1e2147483646", OVERFLOW),
        ("1e-2147483647", UNDERFLOW),
        ("abc", f"{REFUSED}: abc"),
        ("", REFUSED),
    ],
)
def test_numbers_are_read_as_java_reads_them(text: str, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        read_parameters([{"N": text}])
    assert caught.value.message == message


def test_parameters_are_checked_before_the_statement(partiql: PartiQL) -> None:
    message = "One or more parameter values were invalid: Input collection [a, a] contains duplicates."
    assert partiql.message("UPDATE Songs SET WHERE", {"SS": ["a", "a"]}) == message


def test_there_must_be_as_many_parameters_as_the_statement_takes(partiql: PartiQL) -> None:
    message = "Number of parameters in request and statement don't match."
    assert partiql.message("SELECT * FROM Songs WHERE artist = ?") == message
    assert partiql.message("SELECT * FROM Nowhere", {"S": "a"}) == message


def test_parameters_are_canonical(partiql: PartiQL) -> None:
    partiql.run("INSERT INTO Plain VALUE {'id': ?}", {"N": "1.50"})
    assert partiql.items("SELECT * FROM Plain WHERE id = ?", {"N": "15e-1"}) == [{"id": {"N": "1.5"}}]

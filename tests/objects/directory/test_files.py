import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.objects.directory_tree import parse_name, path_of
from tests.objects.keys import KEYS


def key_of(path: tuple[str, ...]) -> str:
    """The key of a path."""
    pieces = [parse_name(name) for name in path]
    assert None not in pieces
    return b"".join(piece[1] + (b"/" if piece[0] == "+" else b"") for piece in pieces if piece is not None).decode()


@given(KEYS)
def test_a_path_stands_for_its_key(key: str) -> None:
    assert key_of(path_of(key)) == key


@given(KEYS)
def test_names_are_safe_on_every_file_system(key: str) -> None:
    for name in path_of(key):
        assert name.isascii()
        assert name == name.lower()
        assert name[0] in "=+~"
        assert len(name) <= 241
        assert not name.endswith((".", " "))
        assert not set(name) & set('/\\:*?"<>|\0')


@given(KEYS, KEYS)
def test_no_key_is_a_folder_of_another(one: str, other: str) -> None:
    first, second = path_of(one), path_of(other)
    assert (first == second) == (one == other)
    assert one == other or second[: len(first)] != first


@given(st.text(max_size=20))
def test_a_name_that_is_read_is_the_one_that_is_written(name: str) -> None:
    parsed = parse_name(name)
    if parsed is not None and parsed[0] == "=":
        try:
            key = parsed[1].decode()
        except UnicodeDecodeError:
            return
        assert path_of(key) == (name,)


@pytest.mark.parametrize("name", ["a", "", "secret", "=A", "=%41a%", "=%61", "=a.", "=%2f", "=é", "+a/b", "=" + "a" * 81, "=\n", "=a\n"])
def test_foreign_file_names_are_ignored(name: str) -> None:
    assert parse_name(name) is None

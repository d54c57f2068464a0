import re

from hypothesis import given
from hypothesis import strategies as st

from gateleg.web.console.widgets import spark_svg


@given(st.lists(st.none() | st.floats(min_value=0, max_value=1e9), max_size=48))
def test_a_sparkline_stays_in_its_box(values: list[float | None]) -> None:
    (stroke,) = re.findall(r'<path d="M([^"]+)" fill="none"', spark_svg(values, "done"))
    points = [tuple(map(float, point.split())) for point in stroke.split("L")]
    assert len(points) >= 2
    assert all(0 <= x <= 100 and 0 <= y <= 32 for x, y in points)
    assert (points[0][0], points[-1][0]) == (0, 100)


def test_the_highest_value_is_the_highest_point() -> None:
    (stroke,) = re.findall(r'<path d="M([^"]+)" fill="none"', spark_svg([1, 5, 2], "failed"))
    assert [float(point.split()[1]) for point in stroke.split("L")] == [24.8, 4.0, 19.6]

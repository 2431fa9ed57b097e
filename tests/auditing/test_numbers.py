import pytest

from unsway.auditing.numbers import number, points, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.123"), (-0.0004, "0.000"), (1234.5, "1,234.500"), (float("inf"), "–")],
)
def test_numbers_have_three_decimals_and_a_true_minus(value, text):
    assert number(value) == text


def test_a_sign_is_shown_but_for_nothing():
    assert [signed(value, 1) for value in (0.26, -0.26, 0.01, -0.01)] == [
        "+0.3",
        "−0.3",
        "0.0",
        "0.0",
    ]


def test_points_are_hundredths_and_a_dash_where_there_are_none():
    assert [points(0.0184), points(float("nan")), points(None)] == ["+1.8", "–", "–"]

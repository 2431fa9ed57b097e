from unsway.auditing.numbers import number, points
from unsway.report.words import count, distinct, estimate, group_name, interval, percent, shown


def test_nothing_is_a_dash_everywhere():
    assert {number(None), count(None), percent(None), points(float("nan"))} == {"–"}


def test_a_long_name_is_cut_in_the_middle():
    text = shown("a" * 2500 + "b" * 2500)
    assert len(text) == 60
    assert text[0] == "a"
    assert text[-1] == "b"
    assert "…" in text


def test_a_name_from_right_to_left_is_kept_apart_from_its_neighbours():
    assert shown("شخص") == "\u2068شخص\u2069"


def test_a_name_cannot_turn_its_neighbours():
    assert shown("safe\u202egnp\u2066") == "safegnp"


def test_an_empty_name_is_visible():
    assert shown(" \n ") == "(empty)"


def test_names_that_look_alike_are_numbered():
    assert distinct(["a" * 99 + "1" + "a" * 99, "a" * 99 + "2" + "a" * 99])[1].endswith(" (2)")


def test_levels_that_say_no_more_than_0_and_1_are_z():
    assert [group_name(1, level) for level in (1, 1.0, True, "1", "Male")] == ["z = 1"] * 4 + [
        "Male"
    ]


def test_an_interval_without_an_end_is_left_out():
    found = {"estimate": 0.02, "low": None, "high": 0.03}
    assert (interval(found), estimate(found)) == ("", "+2.0")
    assert interval({"low": float("-inf"), "high": 0.1}, number) == ""

"""Results become frames of the library a user names."""

import pytest

from unsway.frames import BACKENDS, Tabular, frame_of, make_frame, plain


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_gives_its_own_frame(backend):
    frame = make_frame({"effect": ["total", "direct_reference"], "estimate": [0.4, 0.2]}, backend)
    assert type(frame).__module__.partition(".")[0] == backend
    assert frame.shape == (2, 2)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="unknown backend 'r'; choose from pandas"):
        make_frame({}, "r")


class Result(Tabular):
    def _columns(self):
        return {"name": ["<b>", None], "value": [0.123456, 2]}

    def __repr__(self):
        return "a & b"


def test_a_result_is_a_frame_and_a_table_of_a_notebook():
    assert Result().to_frame("pyarrow").column_names == ["name", "value"]
    page = Result()._repr_html_()
    assert "<h3>a &amp; b</h3>" in page
    assert '<td class="t">&lt;b&gt;</td><td>0.1235</td>' in page
    assert "<td></td><td>2</td>" in page


def test_rows_with_the_same_names_become_the_columns_of_a_frame():
    frame = frame_of([{"effect": "total", "se": 0.1}, {"effect": "explained", "se": 0.2}])
    assert frame.to_dict("list") == {"effect": ["total", "explained"], "se": [0.1, 0.2]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_cannot_hold_becomes_none(value):
    assert plain(value) is None
    assert plain(0.25) == 0.25

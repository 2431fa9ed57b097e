"""Results become frames of the library a user names."""

import pytest

from unsway.frames import BACKENDS, make_frame


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_gives_its_own_frame(backend):
    frame = make_frame({"effect": ["total", "direct_reference"], "estimate": [0.4, 0.2]}, backend)
    assert type(frame).__module__.partition(".")[0] == backend
    assert frame.shape == (2, 2)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="unknown backend 'r'; choose from pandas"):
        make_frame({}, "r")

"""Colours and type of the charts: CSS variables of the page, so that it may turn dark."""

from __future__ import annotations

from typing import Any

from .. import colours
from ..colours import BLUE, GREEN, ON_DARK, PURPLE, VERMILION

#: Colours of the figures, by the CSS variables that hold them on a light and on a dark page.
_VARIABLES = {BLUE: "one", VERMILION: "two", GREEN: "three", PURPLE: "four"}
ONE, TWO, THREE, FOUR = (f"var(--{name})" for name in _VARIABLES.values())
#: The groups z = 0 and z = 1, by z.
GROUPS = tuple(f"var(--{_VARIABLES[colour]})" for colour in colours.GROUPS)
INK, SOFT, LINE, GRID, PAPER = (
    "var(--ink)", "var(--soft)", "var(--line)", "var(--grid)", "var(--paper)",
)  # fmt: skip
SHAPES = ("circle", "diamond", "square", "triangle-up")
_FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif"

#: Vega-Lite's configuration of every chart.
CONFIG: dict[str, Any] = {
    "aria": False,  # the chart's place says what it shows, and a table holds its numbers
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT, "titleColor": SOFT, "labelFontSize": 12, "titleFontSize": 12,
        "titleFontWeight": "normal", "gridColor": GRID, "domainColor": LINE, "tickColor": LINE,
        "titlePadding": 8, "labelOverlap": True, "titleLimit": 330,
    },
    "axisX": {"tickCount": 6},
    "axisQuantitative": {"format": "~g", "tickCount": 6},
    "legend": {
        "labelColor": INK, "labelFontSize": 12, "labelLimit": 260, "symbolSize": 80,
        "offset": 4, "symbolOpacity": 1, "symbolStrokeColor": "transparent",
    },
}  # fmt: skip


def palette() -> str:
    """Return the rule that gives the page the colours of the figures, for light and for dark."""
    shades = " ".join(
        f"--{name}-light: {colour}; --{name}-dark: {ON_DARK[colour]};"
        for colour, name in _VARIABLES.items()
    )
    return f":root {{ {shades} }}\n"

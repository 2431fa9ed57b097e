"""Colours and type of the charts: CSS variables of the page, so that it may turn dark."""

from __future__ import annotations

from typing import Any

#: z = 1 and z = 0, what goes through the covariates and what goes directly; as in the styles.
ONE, TWO, THREE, FOUR = "var(--one)", "var(--two)", "var(--three)", "var(--four)"
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

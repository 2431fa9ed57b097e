"""Vega-Lite charts by Altair; they draw rows of numbers as they are and compute nothing.

Colours are names of CSS variables, so that one drawing serves light, dark and print. Where rows
have a ``position``, only those at the slider's are drawn, or they are marked among the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import colours
from ..auditing.numbers import POINTS, Units
from ..colours import BLUE, GREEN, ON_DARK, PURPLE, VERMILION
from ..extras import load

Rows = Sequence[Mapping[str, Any]]


class _Altair:
    """Altair, imported when a chart is drawn."""

    def __getattr__(self, name: str) -> Any:
        return getattr(load("altair", "report"), name)


alt: Any = _Altair()

#: The signal the slider sets.
POSITION = "position"
_HERE = f"datum.position == {POSITION}"
#: How an axis of differences writes its numbers: as points, or in the units of a target.
_POINTS = "datum.value == 0 ? '0' : format(100 * datum.value, '+~f')"
_PLAIN = "datum.value == 0 ? '0' : format(datum.value, '+~r')"

#: Colours of the figures, by the CSS variables that hold them on a light and on a dark page.
_VARIABLES = {BLUE: "one", VERMILION: "two", GREEN: "three", PURPLE: "four"}
ONE, TWO, THREE, FOUR = (f"var(--{name})" for name in _VARIABLES.values())
#: The groups z = 0 and z = 1, by z.
GROUPS = tuple(f"var(--{_VARIABLES[colour]})" for colour in colours.GROUPS)
INK, SOFT, LINE = "var(--ink)", "var(--soft)", "var(--line)"
GRID, PAPER = "var(--grid)", "var(--paper)"
#: What a part of a gap is, and its colour wherever it is drawn.
THROUGH, SHARP, DIRECTLY, WHOLE = "explained", "sharpness", "direct", "gap"
KINDS = {THROUGH: THREE, SHARP: SOFT, DIRECTLY: FOUR, WHOLE: INK}
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


def tradeoff(rows: Rows, x: str, y: str, start: int, units: Units = POINTS) -> dict[str, Any]:
    """Draw a measure of quality against a difference, a dot per strength, with their intervals.

    Rows have ``x``, ``y``, the ends of both intervals, ``text`` and whether they are ``chosen``.
    """
    reach = _reach(rows, ("x", "x_low", "x_high"), zero=True)
    short = x if units == POINTS else x.partition(" in the ")[0]  # units have long names
    across = _difference(alt.X, "x", reach, units, f"{short}, {units.name}")
    up = alt.Y("y:Q", title=y, scale=_scale(_reach(rows, ("y", "y_low", "y_high"))))
    base = _chart().encode(
        x=across,
        y=up,
        tooltip=["strength:Q", alt.Tooltip("text:N", title=f"{units.name}, then {y}")],
    )
    bars = {"color": ONE, "strokeWidth": 1, "opacity": 0.35}
    high = base.mark_rule(**bars).encode(y="y_low:Q", y2="y_high:Q")
    wide = base.mark_rule(**bars).encode(x="x_low:Q", x2="x_high:Q")
    dots = base.mark_circle(size=42, color=ONE, opacity=1)
    chosen = base.transform_filter("datum.chosen").mark_point(
        size=260, color=THREE, strokeWidth=2, shape="square", filled=False, opacity=1
    )
    here = base.transform_filter(_HERE).mark_circle(size=170, color=TWO, opacity=1)
    return _finish(_zero("x") + high + wide + dots + here + chosen, 300, rows, start)


def cloud(rows: Rows, x: str, y: str, least: float) -> dict[str, Any]:
    """Draw a dot per candidate, and the least utility that is allowed.

    Rows have ``x``, ``y``, ``kind``, ``name`` and ``strength``.
    """
    kinds = ("candidate", "finalist", "champion")
    base = _chart().encode(
        x=alt.X("x:Q", title=x, scale=_scale(_reach([*rows, {"x": least}], ("x",)))),
        y=alt.Y("y:Q", title=y, scale=_scale(_reach(rows, ("y",)))),
        tooltip=["name:N", "strength:Q", alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y)],
        **_look("kind", kinds, (SOFT, ONE, TWO)),
    )
    dots = base.mark_point(filled=True, size=60, opacity=0.8)
    return _finish(dots + _limits(least), 320, rows)


def along(rows: Rows, start: int, units: Units = POINTS) -> dict[str, Any]:
    """Draw the direct effect in the scores with its interval along the strength."""
    title = f"direct effect, {units.name}"
    reach = _reach(rows, ("low", "high", "estimate"), zero=True)
    strengths = _scale(_reach(rows, ("strength",), margin=0.02))
    base = _chart().encode(x=alt.X("strength:Q", title="strength", scale=strengths))
    ends = {"y": _difference(alt.Y, "low", reach, units, title), "y2": "high:Q"}
    band = base.mark_area(color=ONE, opacity=0.18).encode(**ends)
    value = base.encode(
        y=_difference(alt.Y, "estimate", reach, units, title),
        tooltip=["strength:Q", alt.Tooltip("text:N", title=units.name)],
    )
    line = value.mark_line(color=ONE, strokeWidth=1.5)
    dots = value.mark_circle(size=36, color=ONE, opacity=1)
    here = base.transform_filter(_HERE).mark_rule(color=TWO, strokeWidth=1.5).encode(**ends)
    dot = value.transform_filter(_HERE).mark_circle(size=170, color=TWO, opacity=1)
    return _finish(band + _zero("y") + line + dots + here + dot, 260, rows, start)


def waterfall(rows: Rows, start: int | None = None, *, units: Units = POINTS) -> dict[str, Any]:
    """Draw signed parts that add up, a line each; a part begins where the one before it ends.

    Rows have ``part``, ``kind``, ``begin``, ``end`` and a ``label``, drawn at the ``side`` where
    the part ends.
    """
    titles = {"part": "part", "kind": "kind", "label": units.name}
    base = _chart(start).encode(
        y=alt.Y("part:N", sort=None, title=None, axis=_names(split=True)),
        tooltip=[alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()],
    )
    room = 0.28 if units == POINTS else 0.45  # for the labels, which are longer
    reach = _reach(rows, ("begin", "end"), zero=True, margin=room)
    kinds = _unique(rows, "kind")
    colour = _colour("kind", kinds, [KINDS[kind] for kind in kinds])
    begin, end = (_difference(alt.X, field, reach, units) for field in ("begin", "end"))
    bars = base.mark_bar(height=20).encode(x=begin, x2="end:Q", color=colour)
    ends = base.mark_tick(thickness=2, size=24).encode(x=end, color=colour)
    chart = _zero("x") + bars + ends
    for side, align, shift in (("right", "left", 6), ("left", "right", -6)):
        text = base.transform_filter(f"datum.side == '{side}'").encode(x="end:Q", text="label:N")
        chart += text.mark_text(fontSize=12, fontWeight=600, align=align, dx=shift, color=INK)
    return _finish(chart, _tall(rows, "part", 36), rows, start)


def forest(rows: Rows, units: Units = POINTS) -> dict[str, Any]:
    """Draw estimates with their intervals, one below the other, in one colour per kind."""
    kinds = _unique(rows, "kind")
    base = _chart().encode(
        y=alt.Y("name:N", sort=None, title=None, axis=_names(split=True)),
        color=_colour("kind", kinds, (INK, THREE, FOUR, SOFT), legend=False),
        tooltip=["name:N", alt.Tooltip("text:N", title=units.name)],
    )
    reach = _reach(rows, ("low", "high", "estimate"), zero=True)
    low, value = (_difference(alt.X, field, reach, units) for field in ("low", "estimate"))
    line = base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q")
    dot = base.mark_circle(size=70, opacity=1).encode(x=value)
    return _finish(_zero("x") + line + dot, _tall(rows, "name", 32), rows)


def groups(rows: Rows, names: Sequence[str], start: int | None = None) -> dict[str, Any]:
    """Draw measures of both groups with their intervals, a line per measure.

    ``names`` are those of z = 0 and z = 1, which have their colours whichever rows there are.
    """
    look = _look("group", names, GROUPS)
    base = _chart(start).encode(
        y=alt.Y("measure:N", sort=None, title=None, axis=_names(grid=True)),
        yOffset=alt.YOffset("group:N", sort=names, scale=alt.Scale(paddingOuter=0.6)),
        tooltip=["measure:N", "group:N", *_decimals(4, "estimate", "low", "high")],
    )
    line = base.mark_rule(strokeWidth=1.5).encode(
        x=_share(alt.X, "low", title=None), x2="high:Q", color=look["color"]
    )
    dot = base.mark_point(size=60, filled=True, opacity=1).encode(
        x=_share(alt.X, "estimate", title=None), **look
    )
    return _finish(line + dot, _tall(rows, "measure", 38), rows, start)


def calibration(rows: Rows, names: Sequence[str], start: int | None = None) -> dict[str, Any]:
    """Draw the share of positive labels against the mean score, a curve per group."""
    look = _look("group", names, GROUPS)
    x = _share(alt.X, "score", title="mean score in the bin")
    share = _share(alt.Y, "share", title="share of positive labels")
    ends = alt.Chart(_values({"score": 0, "share": 0}, {"score": 1, "share": 1}))
    diagonal = ends.mark_line(color=SOFT, strokeDash=[4, 4], strokeWidth=1).encode(
        x=x, y=_share(alt.Y, "share")
    )
    curve = _chart(start).encode(x=x, y=share, color=look["color"])
    whiskers = curve.mark_rule(strokeWidth=1, opacity=0.6).encode(
        y=_share(alt.Y, "low"), y2="high:Q"
    )
    lines = curve.mark_line(strokeWidth=1.5).encode(order="score:Q")
    tips = ["group:N", *_decimals(3, "score", "share"), alt.Tooltip("rows:Q", format=",.0f")]
    dots = curve.mark_point(size=60, filled=True, opacity=1).encode(tooltip=tips, **look)
    return _finish(diagonal + whiskers + lines + dots, 320, rows, start)


def curves(rows: Rows) -> dict[str, Any]:
    """Draw an effect along the propensity, a curve with its band for each of several outcomes."""
    base = _chart().encode(
        x=_share(alt.X, "b", title="propensity score b"),
        color=_colour("of", _unique(rows, "of"), (SOFT, FOUR, ONE)),
    )
    reach, title = _reach(rows, ("low", "high", "y"), zero=True), "direct effect, points"
    band = base.mark_area(opacity=0.18).encode(
        y=_difference(alt.Y, "low", reach, POINTS, title), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=2).encode(
        y=_difference(alt.Y, "y", reach, POINTS, title),
        tooltip=["of:N", *_decimals(2, "b"), alt.Tooltip("text:N", title="points")],
    )
    return _finish(band + _zero("y") + line, 260, rows)


def overlap(rows: Rows, names: Sequence[str], bounds: Sequence[float]) -> dict[str, Any]:
    """Draw the groups' histograms of the propensity, one upwards and the other downwards."""
    reach = max((abs(row["height"]) for row in rows), default=1.0) * 1.05 or 1.0
    both_ways = alt.Scale(domain=[-reach, reach], nice=False)
    sizes = alt.Axis(labelExpr="format(abs(datum.value), '~g')", tickCount=5)
    low, high = (
        alt.Tooltip(f"{end}:Q", title=title, format=".2f")
        for end, title in (("low", "from"), ("high", "to"))
    )
    base = _chart().mark_bar(stroke=PAPER, strokeWidth=0.5)
    bars = base.encode(
        x=_share(alt.X, "low", title="propensity score b"),
        x2="high:Q",
        y=alt.Y("height:Q", scale=both_ways, title="density", axis=sizes),
        y2=alt.datum(0),
        color=_colour("group", names, GROUPS),
        tooltip=["group:N", low, high, *_decimals(3, "density")],
    )
    return _finish(bars + _limits(*bounds), 260, rows)


def balance(rows: Rows, limit: float) -> dict[str, Any]:
    """Draw a love plot: standardised differences by column, a mark per weighting."""
    scale = alt.Scale(domain=_reach(rows, ("size",), zero=True), nice=False)
    base = _chart().mark_point(size=60, filled=True, opacity=1)
    marks = base.encode(
        x=alt.X("size:Q", title="standardised difference", scale=scale),
        y=alt.Y("column:N", sort=None, title=None, axis=_names(grid=True)),
        tooltip=["column:N", "weighting:N", *_decimals(3, "size")],
        **_look("weighting", _unique(rows, "weighting"), (TWO, ONE, THREE, FOUR)),
    )
    return _finish(_limits(limit) + marks, _tall(rows, "column", 20), rows)


# --- what they share ------------------------------------------------------------------------------


def _values(*rows: Mapping[str, Any]) -> Any:
    """Return a few rows of a chart's own: a line, a limit."""
    return alt.Data(values=list(rows))


def _digits(value: Any) -> Any:
    """Return a number with six digits that count, for a page that stays small; others as is."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _chart(start: int | None = None) -> Any:
    """Return a chart of the rows at the slider's position, or of all where nothing moves.

    `_finish` puts the rows in, past Altair's slow checks.
    """
    chart = alt.Chart(alt.NamedData(name="rows"))
    return chart if start is None else chart.transform_filter(_HERE)


def _scale(reach: Sequence[float]) -> Any:
    return alt.Scale(domain=reach, nice=False, zero=False)


def _difference(
    channel: Any, field: str, reach: Sequence[float], units: Units, title: str | None = None
) -> Any:
    """Return an axis of differences, its numbers in percentage points or those of a target."""
    axis = alt.Axis(labelExpr=_POINTS if units == POINTS else _PLAIN)
    title = title or units.long_name
    return channel(f"{field}:Q", title=title, scale=_scale(reach), axis=axis)


def _share(channel: Any, field: str, **options: Any) -> Any:
    """Return an axis from 0 to 1."""
    return channel(f"{field}:Q", scale=alt.Scale(domain=[0, 1], nice=False), **options)


def _names(grid: bool = False, split: bool = False) -> Any:
    """Return an axis of names; long ones end in an ellipsis, or go on below after a comma."""
    return alt.Axis(
        labelLimit=170,
        labelExpr="split(datum.label, ', ')" if split else alt.Undefined,
        labelLineHeight=13,
        labelOffset=-6 if split else 0,
        labelOverlap=False,
        grid=grid,
        ticks=False,
        domain=False,
        labelPadding=8,
    )


def _legend(names: Sequence[str]) -> Any:
    """Return a legend above the chart: one line where a phone has room for it, else a list."""
    one_line = sum(map(len, names)) + 4 * len(names) <= 30
    short = max(map(len, names), default=0) <= 12
    return alt.Legend(title=None, orient="top", columns=0 if one_line else 2 if short else 1)


def _colour(
    field: str, names: Sequence[str], colours: Sequence[str], *, legend: bool = True
) -> Any:
    scale = alt.Scale(domain=names, range=colours[: len(names)])
    return alt.Color(f"{field}:N", scale=scale, legend=_legend(names) if legend else None)


def _look(field: str, names: Sequence[str], colours: Sequence[str]) -> dict[str, Any]:
    """Return colour and shape of groups, so that neither alone has to tell them apart."""
    shapes = alt.Scale(domain=names, range=SHAPES[: len(names)])
    return {
        "color": _colour(field, names, colours),
        "shape": alt.Shape(f"{field}:N", scale=shapes, legend=_legend(names)),
    }


def _decimals(decimals: int, *fields: str) -> list[Any]:
    """Return numbers for a tooltip."""
    return [alt.Tooltip(f"{field}:Q", format=f".{decimals}f") for field in fields]


def _limits(*values: float) -> Any:
    """Return dotted lines across a chart."""
    chart = alt.Chart(_values(*({"limit": value} for value in values)))
    return chart.mark_rule(color=SOFT, strokeDash=[2, 3]).encode(x="limit:Q")


def _zero(channel: str) -> Any:
    rule = alt.Chart(_values({})).mark_rule(color=SOFT, strokeWidth=1)
    return rule.encode(**{channel: alt.datum(0)})


def _unique(rows: Rows, field: str) -> list[str]:
    return list(dict.fromkeys(str(row[field]) for row in rows))


def _tall(rows: Rows, field: str, step: int) -> int:
    """Return the height of a chart with a line per name, at least two lines."""
    return step * max(2, len(_unique(rows, field)))


def _reach(
    rows: Rows, fields: Sequence[str], *, zero: bool = False, margin: float = 0.06
) -> list[float]:
    """Return the ends of an axis that holds every number, the same wherever the slider stands."""
    known = [row[name] for row in rows for name in fields if row.get(name) is not None]
    known = [value for value in known if abs(value) < float("inf")] or [0.0, 1.0]
    if zero:
        known.append(0.0)
    low, high = min(known), max(known)
    room = margin * (high - low) or 0.01
    return [low - room if low or not zero else 0.0, high + room if high or not zero else 0.0]


def _finish(chart: Any, height: int, rows: Rows, start: int | None = None) -> dict[str, Any]:
    """Return the chart as Vega-Lite, as wide as its place, in the page's type and colours."""
    chart = chart.properties(width="container", height=height, background="transparent")
    if start is not None:
        chart = chart.add_params(alt.param(name=POSITION, value=start))
    chart = chart.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    spec: dict[str, Any] = chart.to_dict()
    del spec["$schema"]  # the page draws with its own Vega-Lite, whichever Altair names
    kept = [{name: _digits(value) for name, value in row.items()} for row in rows]
    return {**spec, "datasets": {**spec.get("datasets", {}), "rows": kept}, "config": CONFIG}

"""Small charts as SVG text, for results that a notebook shows; every name in them is escaped.

Colours are those of a style sheet (`display`): a chart of these is light or dark with its page.
Classes ``s0`` to ``s4`` are the series, ``z0`` and ``z1`` the groups.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 540, 160, 16, 10, 34
_STEP = 22  # height of a line with a label
_LONGEST = 24  # letters of a label
Numbers = Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A named estimate with its interval; `kind` is the class that colours it."""

    label: str
    estimate: float
    low: float
    high: float
    kind: str = "s0"


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points with intervals, joined by a line; `band` draws the intervals as an area."""

    name: str
    x: Numbers
    y: Numbers
    low: Numbers = ()
    high: Numbers = ()
    kind: str = "s0"
    band: bool = False


@dataclass(frozen=True)
class Axis:
    """Numbers from `low` to `high` at places from `start` to `end`.

    Examples
    --------
    >>> Axis(0.0, 2.0, 100.0, 200.0).place(0.5)
    125.0
    """

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float, *, zero: bool = False) -> Axis:
        """Return an axis that holds every finite number, and 0 if asked."""
        known = [float(value) for value in values if math.isfinite(value)]
        known += [0.0] if zero or not known else []
        low, high = min(known), max(known)
        margin = 0.05 * (high - low) or 0.05 * (abs(high) or 1.0)
        return cls(low - margin, high + margin, start, end)

    def place(self, value: float) -> float:
        """Return the place of a number, within the axis."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Return some round numbers.

        Examples
        --------
        >>> Axis(-0.013, 0.21, 0, 1).ticks()
        [0.0, 0.05, 0.1, 0.15, 0.2]
        """
        rough = (self.high - self.low) / count
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * k for k in (1, 2, 2.5, 5, 10) if size * k >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(k * step, 12) for k in range(first, last + 1)]


def intervals(lines: Sequence[Interval], *, title: str) -> str:
    """Draw named estimates with their intervals, one below the other, around a line at 0."""
    height = _TOP + _STEP * len(lines) + _BOTTOM
    ends = [end for each in lines for end in (each.estimate, each.low, each.high)]
    axis = Axis.of(ends, _LEFT, _WIDTH - _RIGHT, zero=True)
    parts = [_vertical(axis, height), _rule(axis.place(0.0), height)]
    for k, each in enumerate(lines):
        y = _TOP + _STEP * (k + 0.5)
        parts.append(_text(_LEFT - 10, y + 4, shorten(each.label), anchor="end"))
        if math.isfinite(each.estimate):
            low, high = (
                axis.place(end if not math.isnan(end) else each.estimate)
                for end in (each.low, each.high)
            )
            parts.append(_line(low, y, high, y, f"{each.kind} thick"))
            parts.append(_dot(axis.place(each.estimate), y, each.kind, 4.5))
    return _svg(height, parts, title)


def curves(
    series: Sequence[Series], *, title: str, x_title: str, y_title: str, zero: bool = True
) -> str:
    """Draw series of points over numbers, with their intervals as bars or as a band."""
    left, height = 62, 270
    xs = [value for each in series for value in each.x]
    ys = [value for each in series for part in (each.y, each.low, each.high) for value in part]
    across = Axis.of(xs, left, _WIDTH - _RIGHT)
    up = Axis.of(ys, height - _BOTTOM - 14, _TOP + 16, zero=zero)
    parts = [_grid(across, up, height)]
    if zero:
        parts.append(_line(left, up.place(0), _WIDTH - _RIGHT, up.place(0)))
    for k, each in enumerate(series):
        parts.append(_series(each, across, up))
        parts.append(_legend(left + 10 + 150 * k, each.name, each.kind))
    parts.append(_text((left + _WIDTH) / 2, height - 6, x_title, anchor="middle"))
    middle = (up.start + up.end) / 2
    turn = f'transform="rotate(-90 14 {middle:.1f})"'
    parts.append(_text(14, middle, y_title, anchor="middle", extra=turn))
    return _svg(height, parts, title)


def histogram(
    edges: Numbers, heights: Sequence[Numbers], names: Sequence[str], *, title: str, x_title: str
) -> str:
    """Draw the histogram of the second group upwards, and that of the first one downwards."""
    left, height = 40, 230
    across = Axis(float(edges[0]), float(edges[-1]), left, _WIDTH - _RIGHT)
    most = max((float(np.max(each)) for each in heights), default=1.0) or 1.0
    up = Axis(-most, most, height - _BOTTOM - 14, _TOP + 16)
    parts = []
    for group, sign in ((0, -1), (1, 1)):
        for low, high, value in zip(edges[:-1], edges[1:], heights[group], strict=True):
            x, y = across.place(low), sorted((up.place(sign * value), up.place(0.0)))
            size = f'width="{across.place(high) - x:.1f}" height="{y[1] - y[0]:.1f}"'
            parts.append(f'<rect x="{x:.1f}" y="{y[0]:.1f}" {size} class="z{group} bar"/>')
        parts.append(_legend(left + 10 + 250 * (1 - group), names[group], f"z{group}"))
    parts.append(_line(left, up.place(0), _WIDTH - _RIGHT, up.place(0)))
    parts += [
        _text(across.place(tick), height - _BOTTOM + 2, number(tick), anchor="middle")
        for tick in across.ticks()
    ]
    parts.append(_text((left + _WIDTH) / 2, height - 6, x_title, anchor="middle"))
    return _svg(height, parts, title)


def marks(
    labels: Sequence[str], values: Sequence[Numbers], names: Sequence[str], *, title: str,
    limit: float,
) -> str:  # fmt: skip
    """Draw a mark for each name on the line of each label; the first of many lines."""
    labels = labels[:25]
    height = _TOP + 20 + _STEP * len(labels) + _BOTTOM
    known = [each for row in values[: len(labels)] for each in row]
    axis = Axis.of([*known, limit], _LEFT, _WIDTH - _RIGHT, zero=True)
    parts = [_vertical(axis, height), _rule(axis.place(limit), height, "limit")]
    parts += [_legend(_LEFT + 95 * k, name, f"s{k}") for k, name in enumerate(names)]
    for k, label in enumerate(labels):
        y = _TOP + 20 + _STEP * (k + 0.5)
        parts.append(_text(_LEFT - 10, y + 4, shorten(label), anchor="end"))
        parts += [
            _dot(axis.place(value), y, f"s{place}", 4.5)
            for place, value in enumerate(values[k])
            if math.isfinite(value)
        ]
    return _svg(height, parts, title)


def shorten(text: object, longest: int = _LONGEST) -> str:
    """Return a name that fits a line, cut in the middle; no control characters.

    Examples
    --------
    >>> shorten("a" * 20 + "b" * 20, 11)
    'aaaaa…bbbbb'
    """
    line = "".join(
        each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in str(text)
    )
    half = (longest - 1) // 2
    return line if len(line) <= longest else f"{line[:half]}…{line[-half:]}"


def number(value: float) -> str:
    """Return a number with a true minus sign.

    Examples
    --------
    >>> number(-0.05)
    '−0.05'
    """
    return f"{value:.4g}".replace("-", "−")


def _series(each: Series, across: Axis, up: Axis) -> str:
    points = [
        (across.place(x), up.place(y), k)
        for k, (x, y) in enumerate(zip(each.x, each.y, strict=True))
        if math.isfinite(x) and math.isfinite(y)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    parts = [f'<polyline points="{path}" class="{each.kind} curve"/>']
    known = [
        (x, up.place(each.low[k]), up.place(each.high[k]))
        for x, _, k in points
        if len(each.low) and math.isfinite(each.low[k]) and math.isfinite(each.high[k])
    ]
    if each.band and known:
        ring = [(x, low) for x, low, _ in known] + [(x, high) for x, _, high in reversed(known)]
        area = " ".join(f"{x:.1f},{y:.1f}" for x, y in ring)
        parts.insert(0, f'<polygon points="{area}" class="{each.kind} area"/>')
    elif not each.band:
        parts += [_line(x, low, x, high, f"{each.kind} thin") for x, low, high in known]
        parts += [_dot(x, y, each.kind, 3) for x, y, _ in points]
    return "".join(parts)


def _grid(across: Axis, up: Axis, height: float) -> str:
    y = height - _BOTTOM + 4
    parts = [
        _text(across.place(tick), y, number(tick), anchor="middle") for tick in across.ticks(6)
    ]
    for tick in up.ticks():
        y = up.place(tick)
        parts.append(_line(across.start, y, across.end, y, "grid"))
        parts.append(_text(across.start - 8, y + 4, number(tick), anchor="end"))
    return "".join(parts)


def _vertical(axis: Axis, height: float) -> str:
    parts = []
    for tick in axis.ticks():
        x = axis.place(tick)
        parts.append(_line(x, _TOP, x, height - _BOTTOM, "grid"))
        parts.append(_text(x, height - _BOTTOM + 18, number(tick), anchor="middle"))
    return "".join(parts)


def _rule(x: float, height: float, kind: str = "zero") -> str:
    return _line(x, _TOP, x, height - _BOTTOM, kind)


def _legend(x: float, name: str, kind: str) -> str:
    return _dot(x, _TOP + 2, kind, 4.5) + _text(x + 10, _TOP + 6, shorten(name), anchor="start")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "zero") -> str:
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} class="{kind}"/>'


def _dot(x: float, y: float, kind: str, radius: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{kind}"/>'


def _text(x: float, y: float, text: str, *, anchor: str, extra: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}'.rstrip()
    return f"<text {place}>{html.escape(text)}</text>"


def _svg(height: float, parts: Sequence[str], title: str) -> str:
    about = html.escape(title, quote=True)
    head = f'<svg viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{about}"'
    return f"{head}>{''.join(parts)}</svg>"

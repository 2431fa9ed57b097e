"""Numbers as sentences and tables write them."""

from __future__ import annotations

import math
from dataclasses import dataclass


def number(value: float | None, decimals: int = 3) -> str:
    """Return a number with a true minus; a dash where there is none.

    Examples
    --------
    >>> number(0.12345), number(-0.5), number(None), number(-0.0001)
    ('0.123', '−0.500', '–', '0.000')
    """
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:,.{decimals}f}"
    if text.startswith("-"):
        text = f"−{text[1:]}" if text.strip("-0.,") else text[1:]
    return text


def signed(value: float | None, decimals: int = 3) -> str:
    """Return a number, its sign shown.

    Examples
    --------
    >>> signed(0.0184), signed(-0.02), signed(0.0)
    ('+0.018', '−0.020', '0.000')
    """
    text = number(value, decimals)
    return f"+{text}" if text[0].isdigit() and text.strip("0.,") else text


def points(value: float | None) -> str:
    """Return a difference of shares in percentage points, its sign shown.

    Examples
    --------
    >>> points(0.0184), points(-0.02), points(None)
    ('+1.8', '−2.0', '–')
    """
    return signed(None if value is None else 100 * value, 1)


def decimals_for(size: float) -> int:
    """Return the decimals with which four digits of a number of this size count.

    Examples
    --------
    >>> decimals_for(0.164), decimals_for(1900.0)
    (4, 0)
    """
    return max(0, 3 - math.floor(math.log10(abs(size)))) if size and math.isfinite(size) else 4


@dataclass(frozen=True, kw_only=True)
class Units:
    """How differences between groups are written: in points, or in the units of a target.

    Parameters
    ----------
    name : str, default="points"
        Their unit, such as "claims per years"; those of labels are percentage points.
    size : float, default=1.0
        What a margin is a share of: the mean of the target, or its standard deviation.
    share_of : str, default=""
        What that is called; empty for labels.

    Examples
    --------
    >>> POINTS.signed(0.018), POINTS.margin(0.02)
    ('+1.8', '2 points')
    >>> claims = Units(name="claims per years", size=0.164, share_of="the mean")
    >>> claims.signed(0.05), claims.margin(0.02), claims.estimate(0.05)
    ('+0.0500', '2% of the mean', '+0.0500, 30.5% of the mean')
    """

    name: str = "points"
    size: float = 1.0
    share_of: str = ""

    @property
    def scores(self) -> str:
        """What a model returns: scores of labels, predictions of numbers."""
        return "predictions" if self.share_of else "scores"

    @property
    def outcome(self) -> str:
        """What the effects are effects on."""
        return "target" if self.share_of else "labels"

    @property
    def long_name(self) -> str:
        """The unit, spelt out."""
        return self.name if self.share_of else "percentage points"

    def signed(self, value: float | None) -> str:
        """Return a difference, its sign shown."""
        return signed(value, decimals_for(self.size)) if self.share_of else points(value)

    def plain(self, value: float | None, more: int = 0) -> str:
        """Return a size without a sign, with more decimals where asked for."""
        if self.share_of:
            return number(value, decimals_for(self.size) + more)
        return number(None if value is None else 100 * value, 1 + more)

    def amount(self, value: float) -> str:
        """Return the size of an effect with its unit."""
        text = self.plain(abs(value))
        if not text.strip("0."):
            decimals = decimals_for(self.size) if self.share_of else 1
            text = f"less than {number(10.0**-decimals, decimals)}"
        return f"{text} {self.name}"

    def margin(self, share: float) -> str:
        """Return a margin: in points, or as a share of the mean."""
        return (
            f"{100 * share:g}% of {self.share_of}" if self.share_of else f"{100 * share:g} points"
        )

    def estimate(self, value: float) -> str:
        """Return a difference, of numbers also as a share of their size."""
        text = self.signed(value)
        if not self.share_of:
            return text
        return f"{text}, {number(100 * value / self.size, 1)}% of {self.share_of}"


#: The units of differences between shares.
POINTS = Units()


def units_of(loss: str, name: str, size: float) -> Units:
    """Return the units of the effects on numbers of a loss.

    Examples
    --------
    >>> units_of("squared_error", "wage", 4.2).margin(0.02)
    '2% of the standard deviation'
    """
    share_of = "the standard deviation" if loss == "squared_error" else "the mean"
    return Units(name=name, size=size, share_of=share_of)

"""Numbers as sentences and tables write them."""

from __future__ import annotations

import math


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
